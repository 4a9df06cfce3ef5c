"""Values from PyTorch, transformers and gguf, see torch_ops.py and decode_ops.py in tests/goldens, and devices that
plans are made for."""

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
    for name in ("torch_ops", "decode_ops"):
        with np.load(Path(__file__).parent.parent / "goldens" / f"{name}.npz") as found:
            values |= found
    return values.__getitem__


@pytest.fixture
def plain_gpu() -> Gpu:
    """A device without any feature."""
    return Gpu(LIMITS)


@pytest.fixture
def wide_gpu() -> Gpu:
    """A device with subgroups of 32 lanes."""
    return Gpu(LIMITS, frozenset({"subgroups"}), (32, 32))


@pytest.fixture
def cpu_gpu() -> Gpu:
    """A CPU adapter: subgroups of 4 lanes, and barriers that cost more than the work between them."""
    return Gpu(LIMITS, frozenset({"subgroups"}), (4, 4), "cpu")
