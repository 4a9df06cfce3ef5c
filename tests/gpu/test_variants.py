"""Every plan of a call, and what a device lacks for others."""

from contextlib import suppress

import pytest

from tests.ops.conftest import LIMITS
from webxpu import ops
from webxpu.errors import ShapeError, Unsupported
from webxpu.gpu import plan as plans
from webxpu.gpu.kernels import variants
from webxpu.gpu.plan import Spec
from webxpu.gpu.target import Gpu
from webxpu.gpu.variants import Planner, _holding, choices, kernel_folders

PLAIN = Gpu(LIMITS)
WIDE = Gpu(LIMITS, frozenset({"subgroups"}), (32, 32))
HALF = Gpu(LIMITS, frozenset({"f16", "subgroups"}), (32, 32))


def names(planner):
    return {name for name, _ in planner.found}


def test_every_variant_that_a_device_has_the_features_for_is_planned():
    for gpu in (PLAIN, WIDE):
        planner = Planner(ops.softmax, [Spec((70, 16), "float32")], {})
        planner.add_all(gpu)
        able = {
            f"softmax/{v.name}" for v in variants("softmax") if v.dtype is None and gpu.features.issuperset(v.features)
        }
        assert able <= names(planner)
        assert any(name.endswith(" folded") for name in names(planner))


def test_what_a_device_lacks_is_named_by_webgpus_own_name():
    planner = Planner(ops.softmax, [Spec((2, 16), "float32")], {})
    assert planner.lacking(PLAIN)["softmax/kernel.subgroups"] == "subgroups"
    assert planner.lacking(HALF) == {}
    halves = Planner(ops.softmax, [Spec((2, 16), "float16")], {})
    assert halves.lacking(PLAIN)["softmax/kernel.f16.subgroups"] == "shader-f16, subgroups"


def test_a_call_that_needs_a_dtype_says_which_feature_and_any_other_error_is_raised():
    halves = Planner(ops.softmax, [Spec((2, 16), "float16")], {})
    assert halves.needs(PLAIN) == "shader-f16"
    assert halves.needs(HALF) is None
    with pytest.raises(Unsupported, match=r"^softmax: f16 tensors need the WebGPU feature 'shader-f16'"):
        halves.add(PLAIN)
    with pytest.raises(ShapeError):
        Planner(ops.softmax, [Spec((2, 16), "int32")], {}).needs(PLAIN)


def test_constants_are_what_they_were_also_after_an_error():
    before = plans.MAX_GROUPS
    seen = []
    with suppress(ZeroDivisionError), _holding((plans, "MAX_GROUPS", 3)):
        seen.append(plans.MAX_GROUPS)
        raise ZeroDivisionError
    assert seen == [3]
    assert plans.MAX_GROUPS == before  # noqa: SIM300


def test_a_device_has_one_kernel_for_each_entry_of_each_dtype():
    for gpu in (PLAIN, HALF):
        found = [(k.op, k.variant.entry, k.variant.dtype) for k in choices(gpu)]
        wanted = {
            (op, v.entry, v.dtype)
            for op in kernel_folders()
            for v in variants(op)
            if (v.dtype is None or v.dtype in gpu.features) and (v.entry != "staged" or "subgroups" in gpu.features)
        }
        assert len(found) == len(set(found))
        assert set(found) == wanted
    assert not any(name.startswith("_") for name in kernel_folders())
