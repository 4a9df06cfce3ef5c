"""norm_linear and join. The GPU's cases are webxpu/cases/norm_linear.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec


def test_gate_and_up_apart_and_joined_are_torchs_gated_layer(golden):
    weight, x, gain = (golden(n) for n in ("gate_up.weight", "layer.x", "layer.gain"))
    parts = [ops.norm_linear(half, x, gain, eps=1e-5) for half in np.split(weight, 2)]
    np.testing.assert_allclose(ops.glu(ops.join(*parts)), golden("gate_up.silu"), rtol=2e-5, atol=1e-6)


def test_joined_rows_stay_rows():
    out = ops.join(np.array([[1, 2], [3, 4]], np.float32), np.array([[5], [6]], np.float32))
    assert out.tolist() == [[1, 2, 5], [3, 4, 6]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda z: ops.norm_linear(z(7, 12), z(1, 8), z(8), eps=1), r"norm_linear: weight must be \(N, 8\) like"),
        (lambda z: ops.norm_linear(z(7, 8), z(1, 8), z(4), eps=1), r"norm_linear: gain must be float32\[8\], got"),
        (lambda z: ops.norm_linear(z(7, 6), z(1, 6), z(6), eps=1), r"norm_linear: x must be .* a multiple of 4, got"),
        (lambda z: ops.join(z(3), z(3, 1)), r"join: a must be float32\[L, A\], A >= 1, got float32\[3\]"),
        (lambda z: ops.join(z(3, 2), z(4, 2)), r"join: b must be float32\[3, B\], B >= 1, got float32\[4, 2\]"),
        (lambda z: ops.join(z(3, 2), z(3, 0)), r"join: b must be float32\[3, B\], B >= 1, got float32\[3, 0\]"),
    ],
)
def test_what_does_not_fit_is_named(call, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        call(lambda *shape: np.zeros(shape, np.float32))


def test_up_to_nine_rows_are_one_dispatch_and_more_are_composed(plain_gpu, wide_gpu, cpu_gpu):
    weight, gain = Spec((256, 640), "q8_0"), Spec((640,), "float32")
    for gpu, name, groups in [(plain_gpu, "kernel", 36), (wide_gpu, "kernel.subgroups", 576), (cpu_gpu, "kernel", 9)]:
        (dispatch,) = ops.norm_linear.plan_of(gpu, weight, Spec((9, 640), "float32"), gain, eps=1e-5)[1].dispatches
        assert (dispatch.kernel.label, dispatch.grid) == (f"norm_linear/{name}:q8_0", (groups, 1, 1))
    _, plan = ops.norm_linear.plan_of(wide_gpu, weight, Spec((10, 640), "float32"), gain, eps=1e-5)
    assert [d.kernel.op for d in plan.dispatches][:2] == ["rmsnorm", "matmul"]


@pytest.mark.parametrize("sizes", [(4, 4), (8, 32), (64, 64)])
@pytest.mark.parametrize(("rows", "n"), [(1, 1), (3, 63), (9, 257)])
def test_the_grid_covers_every_output_at_every_subgroup_size(wide_gpu, rows, n, sizes):
    gpu = replace(wide_gpu, subgroup_sizes=sizes)
    given = Spec((n, 32), "q4_0"), Spec((rows, 32), "float32"), Spec((32,), "float32")
    (dispatch,) = ops.norm_linear.plan_of(gpu, *given, eps=1.0)[1].dispatches
    for size in sizes:
        assert dispatch.grid[0] * (128 // size) >= rows * n
