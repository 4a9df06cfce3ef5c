"""What a program sends to the bridge for the constants of its kernels."""

import re

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import Unsupported
from webxpu.gpu.plan import Spec
from webxpu.gpu.program import bind, encode
from webxpu.gpu.target import Gpu

GPU = Gpu({"maxStorageBufferBindingSize": 2**27, "maxComputeWorkgroupStorageSize": 16_384})
X = Spec((2, 8), "float32")
WEIGHT = Spec((8,), "float32")


def program(op, *specs, **kwargs):
    outputs, plan = op.plan_of(GPU, *specs, **kwargs)
    ranges = [(i, 0, 4096) for i in range(len(specs) + len(outputs))]
    return encode("test", bind(plan, ranges[: len(specs)], ranges[len(specs) :], []))


@pytest.mark.parametrize("eps", [np.float32(0.25), np.float64(0.25), np.float16(0.25)])
def test_numpys_numbers_are_sent_as_plain_ones(eps):
    (pipeline,) = program(ops.rmsnorm, X, WEIGHT, eps=eps)["pipelines"]
    assert type(pipeline["constants"]["EPS"]) is float
    assert pipeline["constants"]["EPS"] == 0.25


@pytest.mark.parametrize(
    ("op", "specs", "options", "text"),
    [
        (ops.rmsnorm, (X, WEIGHT), {"eps": np.inf}, "constant EPS must be a finite float32, got inf"),
        (ops.activation, (X,), {"kind": "elu", "alpha": np.nan}, "constant ALPHA must be a finite float32, got nan"),
        (ops.flash_attention, (Spec((1, 1, 2, 8), "float32"),) * 3, {"scale": -1e39}, "constant SCALE must be a"),
    ],
)
def test_a_constant_that_no_pipeline_takes_is_named_before_anything_is_compiled(op, specs, options, text):
    with pytest.raises(Unsupported, match=rf"^{op.name}/kernel\S*: {re.escape(text)}"):
        program(op, *specs, **options)
