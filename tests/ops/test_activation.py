"""activation: its values, errors and plans. The GPU's cases are webxpu/cases/activation.py."""

import re
from pathlib import Path

import numpy as np
import pytest

from webxpu import ops
from webxpu.data import data_folder
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.ops.activation import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_torchs(golden, kind):
    out = ops.activation(golden("activation.x"), kind=kind)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, golden(f"activation.{kind}"), rtol=1e-6, atol=1e-12)


def test_alpha_changes_elu(golden):
    out = ops.activation(golden("activation.x"), kind="elu", alpha=0.7)
    np.testing.assert_allclose(out, golden("activation.elu-0.7"), rtol=1e-6)


def test_the_two_gelus_differ_by_up_to_5e_4():
    x = np.linspace(-5, 5, 10_001, dtype=np.float32)
    gap = np.abs(ops.activation(x, kind="gelu") - ops.activation(x, kind="gelu_tanh"))
    assert 4.7e-4 < gap.max() < 4.8e-4
    assert abs(abs(x[gap.argmax()]) - 2.699) < 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_large_values_stay_finite(kind):
    x = np.array([-1e4, -750, 750, 1e4], np.float32)
    assert np.isfinite(ops.activation(x, kind=kind)).all()


@pytest.mark.parametrize(
    ("x", "kind", "text"),
    [
        (np.ones(2, np.float32), "swish", "activation: kind must be one of relu2, silu, .*, got 'swish'"),
        (np.ones(2, np.int32), "silu", r"activation: x must be float32, got int32\[2\]"),
    ],
)
def test_what_does_not_fit_is_named(x, kind, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.activation(x, kind=kind)


def test_the_kernels_numbers_are_pythons():
    text = (data_folder("kernels") / "_with" / "activation.wgsl").read_text("utf-8")
    cases = re.findall(r"(?:case (\d)u|(default)): \{ // (\w+)", text)
    numbered = {name: int(number) if number else len(cases) - 1 for number, _, name in cases}
    assert numbered == KINDS


def test_no_kernel_calls_a_tanh_that_may_overflow():
    root: Path = data_folder("kernels")
    for path in root.rglob("*.wgsl"):
        code = re.sub(r"//.*", "", path.read_text("utf-8"))
        calls = re.findall(r"(?<![\w])(tanh|sin|cos)\(", code)
        allowed = ["tanh"] if path.name == "activation.wgsl" and path.parent.name == "_with" else []
        assert calls == allowed, f"{path.name} calls {calls}"


def test_a_workgroup_takes_1024_elements(plain_gpu):
    for n, groups in [(1, 1), (1024, 1), (1025, 2)]:
        _, plan = ops.activation.plan_of(plain_gpu, Spec((n,), "float32"), kind="gelu")
        (dispatch,) = plan.dispatches
        assert dispatch.grid == (groups, 1, 1)
        assert dispatch.constants == {"KIND": 4, "ALPHA": 1.0}
