"""What a speed is measured against, and that every measured call fits its device."""

import pytest

from webxpu import ops
from webxpu.bench.roofline import READ_BYTES, Roofline, multiply_probe, read_probe
from webxpu.bench.speeds import SPEEDS, speed
from webxpu.cases._fill import Fill
from webxpu.gpu.op import spec
from webxpu.gpu.plan import MAX_GROUPS
from webxpu.gpu.target import Gpu

GPU = Gpu(
    {
        "maxComputeWorkgroupsPerDimension": 65_535,
        "maxComputeWorkgroupStorageSize": 16_384,
        "maxComputeInvocationsPerWorkgroup": 256,
        "maxStorageBuffersPerShaderStage": 8,
        "maxStorageBufferBindingSize": 2**31 - 4,
    },
    frozenset({"subgroups"}),
    (32, 32),
)


def test_the_longer_of_memory_and_arithmetic_is_the_least_time():
    roofline = Roofline(read_bytes_s=100.0, flops_s=1000.0)
    assert roofline.least_seconds(200, 0) == 2
    assert roofline.least_seconds(200, 5000) == 5
    assert (roofline.binds(200, 1999), roofline.binds(200, 2001)) == ("memory", "arithmetic")


def test_bytes_are_those_of_all_arguments_and_outputs():
    assert speed(ops.matvec, "", Fill((3, 5)), Fill((5,))).nbytes == 4 * (15 + 5 + 3)
    indices = Fill((7,), dtype="uint32")
    assert spec(indices).nbytes == 28


def test_the_probes_say_how_much_they_do():
    assert read_probe(2**40).work == READ_BYTES
    small = read_probe(2**27 + 3)
    assert (small.work, small.args[0].size * 4) == (2**27, 2**27)
    probe = multiply_probe()
    dispatch = probe.plan.dispatches[0]
    assert probe.work == 16 * 256 * dispatch.grid[0] * dispatch.constants["ROUNDS"]


@pytest.mark.parametrize("measured", SPEEDS, ids=lambda s: f"{s.op.name} {s.size}")
def test_every_measured_call_has_a_plan_and_fits_a_gigabyte(measured):
    outputs, plan = measured.op.plan_of(GPU, *map(spec, measured.args), **measured.kwargs)
    assert plan.dispatches
    assert all(max(d.grid) <= MAX_GROUPS for d in plan.dispatches)
    assert measured.nbytes + sum(s.nbytes for s in plan.scratch) <= 2**30
    assert outputs
