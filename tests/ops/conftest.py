"""Values from PyTorch, transformers and gguf (see tests/goldens/torch_ops.py), and devices that plans are made for."""

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
    "maxStorageBuffersPerShaderStage": 8,
    "maxStorageBufferBindingSize": 134_217_728,
}


@pytest.fixture(scope="session")
def golden() -> Golden:
    with np.load(Path(__file__).parent.parent / "goldens" / "torch_ops.npz") as found:
        values: dict[str, Any] = dict(found)
    return values.__getitem__


@pytest.fixture
def plain_gpu() -> Gpu:
    """A device without any feature."""
    return Gpu(LIMITS)


@pytest.fixture
def wide_gpu() -> Gpu:
    """A device with subgroups of 32 lanes."""
    return Gpu(LIMITS, frozenset({"subgroups"}), (32, 32))
