"""router, moe_dispatch and moe_gather: values, errors and plans. The GPU's cases are webxpu/cases/moe.py."""

import numpy as np
import pytest

from tests.ops.moe_block import moe_block
from webxpu import ops
from webxpu.cases.case import uniform
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec


def logits(*rows):
    return np.array(rows, np.float32)


def test_it_is_torchs_top_k_of_its_softmax(golden):
    for normalize, name in [(False, "plain"), (True, "normalized")]:
        expert, gate = ops.router(golden("router.logits"), k=3, normalize=normalize)
        assert (expert.dtype, gate.dtype) == (np.int32, np.float32)
        np.testing.assert_array_equal(expert, golden("router.expert"))
        np.testing.assert_allclose(gate, golden(f"router.{name}"), rtol=1e-6)


def test_of_equal_logits_the_lowest_index_goes_first():
    expert, gate = ops.router(logits([2, 2, 2, 2]), k=3, normalize=False)
    assert (expert.tolist(), gate.tolist()) == ([[0, 1, 2]], [[0.25, 0.25, 0.25]])
    assert ops.router(logits([0, -0.0, 0]), k=3, normalize=False)[0].tolist() == [[0, 1, 2]]


def test_ranks_follow_the_value_and_then_the_index():
    assert ops.router(logits([1, 5, 3, 5, 1]), k=5, normalize=False)[0].tolist() == [[1, 3, 2, 0, 4]]


def test_logits_that_one_exponential_makes_equal_keep_their_order():
    values = logits([-200, -199, 0, -198])
    assert ops.router(values, k=4, normalize=False)[0].tolist() == [[2, 3, 1, 0]]


def test_gates_are_normalized_only_where_asked():
    # torch 2.13.0: softmax([0, 1, 2, 3]) and its two largest over their sum.
    for normalize, expected in [(False, [0.64391426, 0.23688282]), (True, [0.73105858, 0.26894142])]:
        expert, gate = ops.router(logits([0, 1, 2, 3]), k=2, normalize=normalize)
        assert expert.tolist() == [[3, 2]]
        np.testing.assert_allclose(gate, [expected], rtol=1e-6)
    assert ops.router(logits([0, 1, 2, 3]), k=1, normalize=True)[1].tolist() == [[1]]
    with pytest.raises(TypeError, match="normalize"):
        ops.router(logits([0, 1]), k=1)


def test_a_rank_past_the_experts_is_nobody_with_no_gate():
    expert, gate = ops.router(logits([0, 1]), k=4, normalize=True)
    assert expert.tolist() == [[1, 0, -1, -1]]
    np.testing.assert_allclose(gate, [[0.73105858, 0.26894142, 0, 0]], rtol=1e-6)


def test_a_nan_spoils_the_gates_of_its_own_token_only():
    expert, gate = ops.router(logits([0, np.nan, 1], [0, 2, 1]), k=2, normalize=True)
    assert np.isnan(gate).tolist() == [[True, True], [False, False]]
    assert set(expert[0]) < {0, 1, 2}


def test_all_first_choices_are_seated_before_any_second():
    x, expert = np.float32([[10], [20], [30]]), np.array([[0, 1], [1, 0], [0, 1]])
    buffer, pos = ops.moe_dispatch(x, expert, experts=2, capacity=1)
    assert pos.tolist() == [[0, -1], [0, -1], [-1, -1]]
    assert buffer.reshape(-1).tolist() == [10, 20]


def test_who_is_dropped_keeps_the_seats_of_the_others():
    x, expert = np.arange(1, 5, dtype=np.float32)[:, None], np.zeros((4, 1), np.int32)
    buffer, pos = ops.moe_dispatch(x, expert, experts=1, capacity=1)
    assert (buffer.tolist(), pos.tolist()) == ([[[1]]], [[0], [-1], [-1], [-1]])
    buffer, pos = ops.moe_dispatch(x, expert, experts=1, capacity=3)
    assert (buffer[0, :, 0].tolist(), pos[:, 0].tolist()) == ([1, 2, 3], [0, 1, 2, -1])


def test_an_expert_that_is_not_there_takes_no_seat():
    x, expert = np.float32([[1], [2]]), np.array([[-1, 1], [5, 1]])
    buffer, pos = ops.moe_dispatch(x, expert, experts=2, capacity=2)
    assert pos.tolist() == [[-1, 0], [-1, 1]]
    assert buffer[:, :, 0].tolist() == [[0, 0], [1, 2]]


def one_to_one(x, expert, gate, experts, capacity):
    buffer, pos = ops.moe_dispatch(x, expert, experts=experts, capacity=capacity)
    return ops.moe_gather(buffer, expert, pos, gate), pos


def test_experts_that_nobody_chose_leave_everything_finite():
    x, expert, gate = np.float32([[1, 2]]), np.array([[3]]), np.float32([[1]])
    out, _ = one_to_one(x, expert, gate, 5, 2)
    assert out.tolist() == [[1, 2]]
    assert np.isfinite(ops.moe_dispatch(x, expert, experts=5, capacity=2)[0]).all()


def test_the_gate_counts_once():
    expert, gate = ops.router(logits([0, 1, 2, 3]), k=2, normalize=True)
    out, _ = one_to_one(np.float32([[7]]), expert, gate, 4, 1)
    np.testing.assert_allclose(out, [[7]], rtol=1e-6)
    assert 7 * (gate**2).sum() < 6.9


def test_a_token_that_was_dropped_everywhere_is_zeros():
    out, pos = one_to_one(np.ones((2, 3), np.float32), np.array([[0], [0]]), np.ones((2, 1), np.float32), 1, 1)
    assert pos.tolist() == [[0], [-1]]
    assert out.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_what_is_not_there_adds_nothing_whatever_its_gate():
    y, gate = np.ones((2, 2, 1), np.float32), np.float32([[1, np.nan], [np.inf, 1], [np.nan, 1]])
    expert, pos = np.array([[0, 1], [2, 1], [-1, 0]]), np.array([[1, -1], [0, 0], [0, 2]])
    assert ops.moe_gather(y, expert, pos, gate).tolist() == [[1], [1], [0]]


def routed(t=128, k=2, e=4):
    expert, gate = ops.router(uniform((t, e), 5, 3), k=k, normalize=True)
    return uniform((t, 6), 7), expert, gate


def test_with_a_seat_for_everybody_the_way_there_and_back_is_the_identity():
    x, expert, gate = routed()
    out, pos = one_to_one(x, expert, gate, 4, int(np.bincount(expert.ravel()).max()))
    assert pos.min() == 0
    np.testing.assert_allclose(out, x, rtol=1e-6)


def test_where_seats_are_short_the_seated_gates_are_what_comes_back():
    x, expert, gate = routed()
    out, pos = one_to_one(x, expert, gate, 4, 20)
    assert (pos == -1).any(axis=1).any()
    assert (pos == -1).all(axis=1).any()
    np.testing.assert_allclose(out, x * np.where(pos >= 0, gate, 0).sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-6)


def test_experts_can_be_gathered_in_parts():
    x, expert, gate = routed()
    buffer, pos = ops.moe_dispatch(x, expert, experts=4, capacity=80)
    parts = [ops.moe_gather(buffer[e : e + 2], expert, pos, gate, first_expert=e) for e in (0, 2)]
    np.testing.assert_allclose(parts[0] + parts[1], ops.moe_gather(buffer, expert, pos, gate), atol=1e-6)


def block(golden, capacity):
    gate_up, down = golden("moe_block.gate_up"), golden("moe_block.down")
    experts = [(*np.split(both, 2), back) for both, back in zip(gate_up, down, strict=True)]
    return moe_block(golden("moe_block.x"), golden("moe_block.router"), experts, k=3, capacity=capacity)


def test_a_block_of_experts_is_transformers_qwen3_moe(golden):
    out = block(golden, capacity=len(golden("moe_block.x")))
    np.testing.assert_allclose(out, golden("moe_block.out"), rtol=1e-5, atol=1e-6)


def test_a_block_with_too_few_seats_is_not(golden):
    assert np.abs(block(golden, capacity=8) - golden("moe_block.out")).max() > 0.1


X, E, G = np.ones((3, 4), np.float32), np.zeros((3, 2), np.int32), np.ones((3, 2), np.float32)
Y = np.ones((2, 5, 4), np.float32)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: ops.router(X[0], k=1, normalize=True),
            r"router: logits must be float32 of shape \(T, E\), got float32",
        ),
        (lambda: ops.router(E, k=1, normalize=True), r"router: logits must be float32 of shape \(T, E\), got int32"),
        (lambda: ops.router(X[:, :0], k=1, normalize=True), "router: logits must be of at least one expert, got"),
        (lambda: ops.router(X, k=0, normalize=True), "router: k must be at least 1, got 0"),
        (lambda: ops.moe_dispatch(E, E, experts=2, capacity=1), r"moe_dispatch: x must be float32 of shape \(T, D\)"),
        (
            lambda: ops.moe_dispatch(X, E[:2], experts=2, capacity=1),
            r"moe_dispatch: expert must be int32 of shape \(3, K\), K >= 1, got int32\[2, 2\]",
        ),
        (lambda: ops.moe_dispatch(X, G, experts=2, capacity=1), "moe_dispatch: expert must be int32 of shape"),
        (lambda: ops.moe_dispatch(X, E[:, :0], experts=2, capacity=1), "moe_dispatch: expert must be int32 of shape"),
        (lambda: ops.moe_dispatch(X, E, experts=0, capacity=1), "moe_dispatch: experts must be at least 1, got 0"),
        (lambda: ops.moe_dispatch(X, E, experts=2, capacity=0), "moe_dispatch: capacity must be at least 1, got 0"),
        (
            lambda: ops.moe_gather(Y[0], E, E, G),
            r"moe_gather: y must be float32 of shape \(E, C, D\) with E and C of at least 1, got float32\[5, 4\]",
        ),
        (lambda: ops.moe_gather(Y[:, :0], E, E, G), "moe_gather: y must be float32 of shape"),
        (
            lambda: ops.moe_gather(Y, G, E, G),
            r"moe_gather: expert must be int32 of shape \(T, K\), K >= 1, got float32",
        ),
        (
            lambda: ops.moe_gather(Y, E, E[:2], G),
            r"moe_gather: pos must be int32\[3, 2\] as expert is, got int32\[2, 2\]",
        ),
        (lambda: ops.moe_gather(Y, E, E, G[:2]), r"moe_gather: gate must be float32\[3, 2\], got float32\[2, 2\]"),
        (lambda: ops.moe_gather(Y, E, E, G, first_expert=-1), "moe_gather: first_expert must be at least 0, got -1"),
    ],
)
def test_what_does_not_fit_is_named(call, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        call()


def constants(op, gpu, *specs, **kwargs):
    return [dict(d.constants) for d in op.plan_of(gpu, *specs, **kwargs)[1].dispatches]


def test_no_constant_counts_tokens_or_seats(plain_gpu):
    x, pairs = ((Spec((t, 8), "float32"), Spec((t, 2), "int32")) for t in (70, 4000)), {"experts": 4}
    few, many = (
        constants(ops.moe_dispatch, plain_gpu, *specs, **pairs, capacity=c)
        for specs, c in zip(x, (40, 2000), strict=True)
    )
    assert few == many
    few, many = (
        constants(
            ops.moe_gather,
            plain_gpu,
            Spec((4, c, 8), "float32"),
            *(Spec((t, 2), dtype) for dtype in ("int32", "int32", "float32")),
        )
        for t, c in ((70, 40), (4000, 2000))
    )
    assert few == many == [{"E": 4, "D": 8, "K": 2, "FIRST": 0}]
    few, many = (constants(ops.router, plain_gpu, Spec((t, 4), "float32"), k=2, normalize=True) for t in (7, 7000))
    assert few == many == [{"E": 4, "K": 2}, {"K": 2}]


def test_the_work_of_finding_seats_grows_with_the_pairs_and_not_with_their_square(plain_gpu):
    # A thread of count and one of seat look at 256 pairs at most; one of scan adds up a row a block.
    _, plan = ops.moe_dispatch.plan_of(
        plain_gpu, Spec((4096, 16), "float32"), Spec((4096, 8), "int32"), experts=128, capacity=320
    )
    count, scan, seat, _ = plan.dispatches
    assert count.constants["BLOCK"] == seat.constants["BLOCK"] == 256
    assert [d.grid for d in (count, scan, seat)] == [(256, 1, 1), (2, 1, 1), (160, 1, 1)]
    assert [spec.shape for spec in plan.scratch] == [(128, 128), (129, 128), (128, 320)]


def test_rows_that_one_binding_cannot_hold_go_in_chunks(plain_gpu):
    wide = {"experts": 64, "capacity": 1024}
    _, plan = ops.moe_dispatch.plan_of(plain_gpu, Spec((9, 1024), "float32"), Spec((9, 2), "int32"), **wide)
    fills = [d for d in plan.dispatches if d.kernel.variant.entry == "fill"]
    assert [(d.bindings[1].offset, d.bindings[2].offset) for d in fills] == [(0, 0), (4 << 15, 4096 << 15)]
    tokens = 40_000
    _, plan = ops.router.plan_of(plain_gpu, Spec((tokens, 1024), "float32"), k=8, normalize=True)
    routes = [d for d in plan.dispatches if d.kernel.variant.entry == "router"]
    assert [[b.offset for b in d.bindings] for d in routes] == [[0, 0, 0], [4096 << 15, 32 << 15, 32 << 15]]
