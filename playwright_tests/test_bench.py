"""The bench measures on the device, and states no speed of a CPU."""

from __future__ import annotations

import subprocess
import sys

import pytest

import webxpu.bench.roofline as roofline
from webxpu import ops
from webxpu.bench.speeds import speed
from webxpu.cases._fill import Fill
from webxpu.host import bench
from webxpu.host.bench import measure, measure_roofline
from webxpu.host.gpu_page import GpuPage


@pytest.mark.parametrize("gpu_page", ["adapter"], indirect=True)
def test_a_call_is_timed_and_held_against_the_devices_own_ceilings(
    gpu_page: GpuPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roofline, "READ_BYTES", 2**22)
    monkeypatch.setattr(roofline, "MULTIPLY_ROUNDS", 10)
    monkeypatch.setattr(roofline, "MULTIPLY_GROUPS", 16)
    monkeypatch.setattr(bench, "BUSY_MS", 5)
    ceilings = measure_roofline(gpu_page)
    assert 1e6 < ceilings.read_bytes_s < 20e12
    assert 1e6 < ceilings.flops_s < 10e15
    work = speed(ops.matvec, "64x1024", Fill((64, 1024)), Fill((1024,)), flops=2.0 * 64 * 1024)
    found = measure(gpu_page, work, ceilings)
    assert found.kernels.startswith("matvec/")
    seconds = found.milliseconds / 1000
    assert found.bytes_s == pytest.approx(work.nbytes / seconds)
    assert found.fraction == pytest.approx(ceilings.least_seconds(work.nbytes, work.flops) / seconds)
    assert found.bound_by in ("memory", "arithmetic")


def test_no_speed_is_stated_of_an_adapter_that_computes_on_the_cpu() -> None:
    command = [sys.executable, "-m", "webxpu.host.cli", "bench", "--adapter", "swiftshader"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("webxpu bench: no speed is measured here: the adapter is a fallback adapter")
