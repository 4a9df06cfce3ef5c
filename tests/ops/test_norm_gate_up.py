"""norm_gate_up and glu against PyTorch. The GPU's cases are webxpu/cases/norm_gate_up.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec


@pytest.mark.parametrize("kind", ["silu", "gelu", "gelu_tanh"])
def test_it_is_torchs_gated_layer(golden, kind):
    args = (golden(n) for n in ("gate_up.weight", "layer.x", "layer.gain"))
    out = ops.norm_gate_up(*args, kind=kind, eps=1e-5)
    np.testing.assert_allclose(out, golden(f"gate_up.{kind}"), rtol=2e-5, atol=1e-6)


def test_gate_and_up_are_not_exchanged():
    # silu(4) * 12; exchanged it would be silu(12) * 4.
    assert ops.glu(np.array([[4, 12]], np.float32))[0, 0] == pytest.approx(47.13666, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda z: ops.glu(z(3, 5)), r"glu: x must be float32\[L, 2 F\], got float32\[3, 5\]"),
        (lambda z: ops.glu(z(3, 6), kind="swish"), r"glu: kind must be one of .*, got 'swish'"),
        (
            lambda z: ops.norm_gate_up(z(7, 8), z(1, 8), z(8), eps=1),
            r"norm_gate_up: weight must be \(2 F, K\), gate rows",
        ),
        (lambda z: ops.norm_gate_up(z(6, 8), z(1, 8), z(4), eps=1), r"norm_gate_up: gain must be float32\[8\], got"),
        (lambda z: ops.norm_gate_up(z(6, 8), z(1, 8), z(8), eps=1, kind="x"), r"norm_gate_up: kind must be one of"),
    ],
)
def test_what_does_not_fit_is_named(call, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        call(lambda *shape: np.zeros(shape, np.float32))


def test_a_few_rows_are_one_dispatch_and_more_are_composed(plain_gpu, wide_gpu, cpu_gpu):
    weight, gain = Spec((3072, 576), "q4_1"), Spec((576,), "float32")
    for gpu, name, groups in [(plain_gpu, "kernel", 24), (wide_gpu, "kernel.subgroups", 384), (cpu_gpu, "kernel", 6)]:
        _, plan = ops.norm_gate_up.plan_of(gpu, weight, Spec((1, 576), "float32"), gain, eps=1e-5)
        (dispatch,) = plan.dispatches
        assert (dispatch.kernel.label, dispatch.grid) == (f"norm_gate_up/{name}:q4_1", (groups, 1, 1))
    _, plan = ops.norm_gate_up.plan_of(wide_gpu, weight, Spec((10, 576), "float32"), gain, eps=1e-5)
    assert [d.kernel.op for d in plan.dispatches] == ["rmsnorm", "matmul", "matmul", "norm_gate_up"]
    assert plan.scratch == [Spec(shape, "float32") for shape in ((10, 576), (10, 3072), (6, 10, 3072))]
