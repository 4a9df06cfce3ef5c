"""compose: plans of other ops, one after the other, on the outer op's arguments."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.gpu.plan import Spec, arg, compose, out, scratch
from webxpu.gpu.target import Gpu

GPU = Gpu({"maxComputeWorkgroupStorageSize": 16_384, "maxStorageBufferBindingSize": 2**27})
X, GAIN, WEIGHT = Spec((5, 64), "float32"), Spec((64,), "float32"), Spec((70, 64), "q8_0")


def test_bindings_lead_to_the_outer_arguments_and_to_scratch():
    c = compose(GPU, WEIGHT, X, GAIN)
    (normed,) = c.call(ops.rmsnorm, c.args[1], c.args[2], eps=1e-5)
    (both,) = c.call(ops.linear, normed, c.args[0])
    assert (both.spec, both.binding) == (Spec((5, 70), "float32"), scratch(1))
    c.call(ops.glu, both, into=[out(0)])
    plan = c.plan()
    assert plan.scratch == [X, Spec((5, 70), "float32")]
    norm, product, glu = plan.dispatches
    assert norm.bindings == [arg(1), arg(2), scratch(0)]
    assert product.bindings == [arg(0), scratch(0, "read"), scratch(1)]
    assert glu.bindings == [scratch(1, "read"), out(0)]


def test_scratch_of_an_inner_plan_gets_a_place_of_its_own():
    logits, history, state = Spec((3000,), "float32"), Spec((9,), "int32"), Spec((64,), "uint32")
    c = compose(GPU, state, history, logits, logits)
    (total,) = c.call(ops.elementwise, c.args[2], c.args[3], kind="add")
    c.call(ops.sample, total, c.args[1], c.args[0])
    plan = c.plan()
    assert plan.scratch[0] == logits
    inner = ops.sample.plan_of(GPU, logits, history, state)[1]
    assert plan.scratch[1:] == inner.scratch
    assert plan.dispatches[1].bindings == [scratch(1)]  # the first scratch of the inner plan
    assert plan.dispatches[2].bindings == [scratch(0, "read"), scratch(1), arg(0, "uniform")]
    assert plan.dispatches[-1].bindings[2:] == [arg(1, "read_write"), arg(0, "read_write")]


def test_a_value_takes_another_shape_of_the_same_size_only():
    c = compose(GPU, X)
    assert c.args[0].reshape(320).spec == Spec((320,), "float32")
    with pytest.raises(AssertionError):
        c.args[0].reshape(321)


def test_a_composition_is_what_its_parts_give_one_after_the_other():
    rng = np.random.default_rng(1)
    weight, x, gain = (rng.normal(size=s).astype(np.float32) for s in ((14, 8), (3, 8), (8,)))
    apart = ops.glu(ops.linear(ops.rmsnorm(x, gain, eps=1e-5), weight))
    np.testing.assert_array_equal(ops.norm_gate_up(weight, x, gain, eps=1e-5), apart)
