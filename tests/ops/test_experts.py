"""expert_gate_up and expert_down against transformers. The GPU's cases are webxpu/cases/experts.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec


def test_they_are_the_experts_of_transformers_qwen3_moe(golden):
    """The golden's block begins with no norm: eps is so large that the norm is a factor, which its gain takes back."""
    x, gate_up, down = (golden(f"moe_block.{name}") for name in ("x", "gate_up", "down"))  # (E, 2 F, D), (E, D, F)
    e, _, d = gate_up.shape
    expert, gate = ops.router(ops.linear(x, golden("moe_block.router")), k=3, normalize=True)
    gates, ups = np.split(gate_up, 2, axis=1)
    stacked = np.concatenate([gates.reshape(-1, d), ups.reshape(-1, d)])
    gain = np.full(d, 1e4, np.float32)
    hidden = ops.expert_gate_up(stacked, x, gain, expert, experts=e, eps=1e8)
    out = ops.expert_down(down.reshape(-1, down.shape[2]), hidden, expert, gate, np.ones_like(x))
    np.testing.assert_allclose(out - 1, golden("moe_block.out"), rtol=1e-4, atol=1e-5)


def test_an_expert_that_is_not_there_is_zeros_and_adds_nothing_whatever_its_gate():
    weight, expert = np.ones((8, 4), np.float32), np.array([[-1, 0], [2, 1]], np.int32)
    x, gain = np.ones((2, 4), np.float32), np.ones(4, np.float32)
    hidden = ops.expert_gate_up(weight, x, gain, expert, experts=2, eps=1e-9)
    assert hidden[0, 0].tolist() == hidden[1, 0].tolist() == [0, 0]
    assert hidden[0, 1].tolist() == hidden[1, 1].tolist() != [0, 0]
    gate = np.array([[np.nan, 0.5], [np.inf, 2]], np.float32)
    values = np.arange(16, dtype=np.float32).reshape(2, 2, 4)
    out = ops.expert_down(weight[:6], values, expert, gate, np.full((2, 3), 100, np.float32))
    assert out.tolist() == [[100 + 0.5 * 22] * 3, [100 + 2 * 54] * 3]


def f32(*shape):
    return np.zeros(shape, np.float32)


def i32(*shape):
    return np.zeros(shape, np.int32)


def gate_up(weight, x, gain, expert, experts=2, **more):
    return lambda: ops.expert_gate_up(weight, x, gain, expert, experts=experts, eps=1.0, **more)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (gate_up(f32(10, 8), f32(3, 8), f32(8), i32(3, 2)), r"expert_gate_up: weight must be \(2 E \* F, K\) with E ="),
        (gate_up(f32(0, 8), f32(3, 8), f32(8), i32(3, 2)), r"expert_gate_up: weight must be \(2 E \* F, K\) with E ="),
        (gate_up(f32(8, 8), f32(3, 8), f32(8), i32(4, 2)), r"expert_gate_up: expert must be int32\[3, R\] with R >= 1"),
        (gate_up(f32(8, 8), f32(3, 8), f32(8), i32(3, 0)), r"expert_gate_up: expert must be int32\[3, R\] with R >= 1"),
        (gate_up(f32(8, 8), f32(3, 8), f32(8), f32(3, 2)), r"expert_gate_up: expert must be int32\[3, R\] with R >= 1"),
        (gate_up(f32(8, 8), f32(3, 8), f32(4), i32(3, 2)), r"expert_gate_up: gain must be float32\[8\], got"),
        (gate_up(f32(8, 8), f32(3, 8), f32(8), i32(3, 2), 0), r"expert_gate_up: experts must be at least 1, got 0"),
        (gate_up(f32(8, 8), f32(3, 8), f32(8), i32(3, 2), kind="x"), r"expert_gate_up: kind must be one of"),
        (
            lambda: ops.expert_down(f32(6, 8), f32(3, 8), i32(3, 2), f32(3, 2), f32(3, 3)),
            r"expert_down: hidden must be float32\[L, R, K\] with K a multiple of 4, got float32\[3, 8\]",
        ),
        (
            lambda: ops.expert_down(f32(7, 8), f32(3, 2, 8), i32(3, 2), f32(3, 2), f32(3, 3)),
            r"expert_down: weight must be \(E \* 3, 8\) with E >= 1, got float32\[7, 8\]",
        ),
        (
            lambda: ops.expert_down(f32(6, 4), f32(3, 2, 8), i32(3, 2), f32(3, 2), f32(3, 3)),
            r"expert_down: weight must be \(E \* 3, 8\) with E >= 1, got float32\[6, 4\]",
        ),
        (
            lambda: ops.expert_down(f32(6, 8), f32(3, 2, 8), i32(3, 1), f32(3, 1), f32(3, 3)),
            r"expert_down: expert must be int32\[3, 2\], got int32\[3, 1\]",
        ),
        (
            lambda: ops.expert_down(f32(6, 8), f32(3, 2, 8), i32(3, 2), f32(3, 1), f32(3, 3)),
            r"expert_down: gate must be float32\[3, 2\], got float32\[3, 1\]",
        ),
        (
            lambda: ops.expert_down(f32(6, 8), f32(3, 2, 8), i32(3, 2), f32(3, 2), f32(2, 3)),
            r"expert_down: residual must be float32\[3, N\] with N >= 1, got float32\[2, 3\]",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(call, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        call()


@pytest.mark.parametrize("sizes", [(4, 4), (8, 32), (64, 64)])
@pytest.mark.parametrize("rows", [1, 10])
def test_one_dispatch_covers_every_output_at_every_subgroup_size(wide_gpu, plain_gpu, cpu_gpu, rows, sizes):
    gpu = replace(wide_gpu, subgroup_sizes=sizes)
    x, gain, expert = Spec((rows, 64), "float32"), Spec((64,), "float32"), Spec((rows, 3), "int32")
    down = [Spec((5 * 65, 32), "q8_0"), Spec((rows, 3, 32), "float32"), expert, Spec((rows, 3), "float32")]
    down.append(Spec((rows, 65), "float32"))
    up = Spec((2 * 5 * 66, 64), "q4_0"), x, gain, expert
    for size in sizes:
        (dispatch,) = ops.expert_gate_up.plan_of(gpu, *up, experts=5, eps=1.0)[1].dispatches
        assert dispatch.grid[0] * (128 // size) >= rows * 3 * 66
        (dispatch,) = ops.expert_down.plan_of(gpu, *down)[1].dispatches
        assert dispatch.grid[0] * (128 // size) >= rows * 65
    for gpu, groups in [(plain_gpu, 2), (cpu_gpu, 1)]:
        (dispatch,) = ops.expert_gate_up.plan_of(gpu, *up, experts=5, eps=1.0)[1].dispatches
        assert (dispatch.kernel.label, dispatch.grid) == ("experts/gate_up:q4_0", (rows * 3 * groups, 1, 1))
        (dispatch,) = ops.expert_down.plan_of(gpu, *down)[1].dispatches
        assert (dispatch.kernel.label, dispatch.grid) == ("experts/down:q8_0", (rows * groups, 1, 1))
