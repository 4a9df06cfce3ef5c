"""Values from PyTorch, transformers and others (the `*_ops.py` in tests/goldens), and devices that plans are made
for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from webxpu.gpu.target import Gpu

Golden = Callable[[str], np.ndarray]
# WebGPU's floor, as far as plans and programs look at it.
LIMITS = {
    "maxComputeWorkgroupsPerDimension": 65_535,
    "maxComputeInvocationsPerWorkgroup": 256,
    "maxComputeWorkgroupStorageSize": 16_384,
    "maxStorageBuffersPerShaderStage": 8,
    "maxStorageBufferBindingSize": 134_217_728,
}


@pytest.fixture(scope="session")
def golden() -> Golden:
    values: dict[str, Any] = {}
    for path in sorted((Path(__file__).parent.parent / "goldens").glob("*_ops.npz")):
        with np.load(path) as found:
            arrays = {name: found[name] for name in found if name != "versions"}
            assert not values.keys() & arrays.keys(), f"{path.name} repeats a name"
            values |= arrays
    return values.__getitem__


@pytest.fixture
def qkv(golden: Golden) -> tuple[np.ndarray, ...]:
    """What attention and flash_attention are both asked for."""
    return tuple(golden(f"attention.{name}") for name in "qkv")


@pytest.fixture
def plain_gpu() -> Gpu:
    """A device without any feature."""
    return Gpu(LIMITS)


@pytest.fixture
def wide_gpu() -> Gpu:
    """A device with subgroups of 32 lanes."""
    return Gpu(LIMITS, frozenset({"subgroups"}), (32, 32))


@pytest.fixture
def half_gpu() -> Gpu:
    """A device with subgroups of 32 lanes and f16."""
    return Gpu(LIMITS, frozenset({"f16", "subgroups"}), (32, 32))


@pytest.fixture
def cpu_gpu() -> Gpu:
    """A CPU adapter: subgroups of 4 lanes, and barriers that cost more than the work between them."""
    return Gpu(LIMITS, frozenset({"subgroups"}), (4, 4), "cpu")
