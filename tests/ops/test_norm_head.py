"""norm_head and norm_head_argmax against PyTorch. The GPU's cases are webxpu/cases/norm_head.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.llm.state import State


def arguments(golden, rows):
    return *(golden(n) for n in ("head.weight", "layer.x", "layer.gain")), State(rows=rows, capacity=9).to_words()


@pytest.mark.parametrize(("rows", "taken"), [(1, 0), (2, 1), (3, 2), (9, 2), (0, 0)])
def test_the_last_valid_row_gives_the_logits(golden, rows, taken):
    logits = ops.norm_head(*arguments(golden, rows), eps=1e-5)
    np.testing.assert_allclose(logits, golden("head.logits")[taken], rtol=1e-5, atol=1e-6)


def test_every_64_rows_give_their_best(golden):
    values, ids = ops.norm_head_argmax(*arguments(golden, 2), eps=1e-5)
    logits = golden("head.logits")[1]
    assert ids.tolist() == [start + int(logits[start : start + 64].argmax()) for start in (0, 64, 128)]
    assert ids.dtype == np.int32
    np.testing.assert_allclose(values, logits[ids], rtol=1e-5)


def test_the_lowest_id_wins_a_tie():
    weight = np.ones((130, 4), np.float32)
    weight[:5] = 0
    x, gain = np.ones((1, 4), np.float32), np.ones(4, np.float32)
    _, ids = ops.norm_head_argmax(weight, x, gain, State(capacity=9).to_words(), eps=1e-5)
    assert ids.tolist() == [5, 64, 128]


@pytest.mark.parametrize("op", [ops.norm_head, ops.norm_head_argmax])
def test_what_does_not_fit_is_named(golden, op):
    weight, x, gain, state = arguments(golden, 1)
    with pytest.raises(ShapeError, match=rf"^{op.name}: gain must be float32\[12\], got float32\[11\]"):
        op(weight, x, gain[1:], state, eps=1e-5)
    with pytest.raises(ShapeError, match=rf"^{op.name}: x must be at least one row, got float32\[0, 12\]"):
        op(weight, x[:0], gain, state, eps=1e-5)
    with pytest.raises(ShapeError, match=rf"^{op.name}: state must be uint32\[64\], got uint32\[63\]"):
        op(weight, x, gain, state[1:], eps=1e-5)


def test_all_rows_give_what_each_gives_alone(golden):
    weight, x, gain, state = arguments(golden, 1)
    logits = ops.norm_head_rows(weight, x, gain, state, eps=1e-5)
    np.testing.assert_allclose(logits, golden("head.logits"), rtol=1e-5, atol=1e-6)
    values, ids = ops.norm_head_rows_argmax(weight, x, gain, state, eps=1e-5)
    for row in range(len(x)):
        alone = ops.norm_head_argmax(*arguments(golden, row + 1), eps=1e-5)
        assert (ids[row].tolist(), ids.dtype) == (alone[1].tolist(), np.int32)
        np.testing.assert_allclose(values[row], alone[0], rtol=1e-6)


def rows_plan(op, gpu, rows, v=49_152):
    specs = [Spec((v, 576), "q8_0"), Spec((rows, 576), "float32"), Spec((576,), "float32"), Spec((64,), "uint32")]
    return op.plan_of(gpu, *specs, eps=1e-5)[1]


def test_a_few_rows_have_the_dispatches_of_one(plain_gpu, wide_gpu):
    staged = rows_plan(ops.norm_head_rows_argmax, plain_gpu, 9)
    assert [d.kernel.label for d in staged.dispatches] == ["norm_head/kernel:q8_0", "norm_head/argmax"]
    assert [d.grid for d in staged.dispatches] == [(9 * 192, 1, 1), (108, 1, 1)]
    assert staged.scratch == [Spec((9 * 49_152,), "float32")]
    (fused,) = rows_plan(ops.norm_head_rows_argmax, wide_gpu, 9).dispatches
    assert (fused.kernel.label, fused.grid) == ("norm_head/argmax.subgroups:q8_0", (9 * 768, 1, 1))
    for gpu in (plain_gpu, wide_gpu):
        more = rows_plan(ops.norm_head_rows, gpu, 10)
        assert [d.kernel.op for d in more.dispatches][:2] == ["rmsnorm", "matmul"]
        best = rows_plan(ops.norm_head_rows_argmax, gpu, 10)
        assert [d.kernel.label for d in best.dispatches][-1] == "norm_head/argmax"
    assert rows_plan(ops.norm_head_rows, wide_gpu, 9, 65_535 * 64 + 1).dispatches[0].grid == (58_983, 10, 1)


def test_the_best_of_no_row_is_refused(golden):
    weight, x, gain, state = arguments(golden, 1)
    with pytest.raises(ShapeError, match=r"^norm_head_rows_argmax: x must be at least one row, got float32\[0, 12\]"):
        ops.norm_head_rows_argmax(weight, x[:0], gain, state, eps=1e-5)
    with pytest.raises(ShapeError, match=r"^norm_head_rows: gain must be float32\[12\], got float32\[11\]"):
        ops.norm_head_rows(weight, x, gain[1:], state, eps=1e-5)
    with pytest.raises(ShapeError, match=r"^norm_head_rows: state must be uint32\[64\], got uint32\[63\]"):
        ops.norm_head_rows(weight, x, gain, state[1:], eps=1e-5)


def plan(op, gpu, v=49_152):
    specs = [Spec((v, 576), "q8_0"), Spec((1, 576), "float32"), Spec((576,), "float32"), Spec((64,), "uint32")]
    return op.plan_of(gpu, *specs, eps=1e-5)[1]


def test_with_subgroups_no_logits_are_kept(plain_gpu, wide_gpu):
    fused = plan(ops.norm_head_argmax, wide_gpu)
    assert [(d.kernel.label, d.grid) for d in fused.dispatches] == [("norm_head/argmax.subgroups:q8_0", (768, 1, 1))]
    assert not fused.scratch
    staged = plan(ops.norm_head_argmax, plain_gpu)
    assert [d.kernel.label for d in staged.dispatches] == ["norm_head/kernel:q8_0", "norm_head/argmax"]
    assert [d.grid for d in staged.dispatches] == [(192, 1, 1), (12, 1, 1)]
    assert staged.scratch == [Spec((49_152,), "float32")]


@pytest.mark.parametrize(("size", "threads"), [(4, 64), (8, 128), (16, 256), (32, 256), (64, 256)])
def test_a_workgroup_has_as_many_threads_as_64_rows_and_the_limits_want(wide_gpu, size, threads):
    gpu = replace(wide_gpu, subgroup_sizes=(size, size))
    for op in (ops.norm_head, ops.norm_head_argmax):
        assert plan(op, gpu).dispatches[0].constants["THREADS"] == threads
    roomy = replace(gpu, limits={**gpu.limits, "maxComputeInvocationsPerWorkgroup": 1024})
    assert plan(ops.norm_head, roomy).dispatches[0].constants["THREADS"] == 16 * size


def test_a_large_vocabulary_folds(plain_gpu, wide_gpu):
    assert plan(ops.norm_head, wide_gpu, 65_535 * 64 + 1).dispatches[0].grid == (32_768, 2, 1)
    assert plan(ops.norm_head, plain_gpu, 65_535 * 256 + 1).dispatches[0].grid == (32_768, 2, 1)
