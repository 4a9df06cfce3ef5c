"""Long rows: a decode step's kernels that stage a row of x in workgroup memory and take the weights in blocks of 32."""

from __future__ import annotations

from webxpu.gpu.kernels import Kernel
from webxpu.gpu.target import Gpu

# From so many columns on every lane of a subgroup has a block of its own to work on.
LEAST_COLUMNS = 1024
THREADS = 256
# Times the columns that a subgroup computes at once: the workgroups that should be left, so that a big GPU has enough.
LEAST_GROUPS = 64
# What the kernels keep beside the row: its padding, and a few words a subgroup.
MORE_BYTES = 1024


def stages(gpu: Gpu, kernel: Kernel, k: int) -> bool:
    """Whether a layer of rows of `k` values, for which the device would get `kernel`, stages them."""
    fits = k * 4 + MORE_BYTES <= gpu.limits["maxComputeWorkgroupStorageSize"]
    return bool(kernel.features) and k >= LEAST_COLUMNS and k % 32 == 0 and fits


def staged_columns(gpu: Gpu, constants: dict[str, int | float], n: int, *, least: int = 1) -> int:
    """Tells a staged kernel how many of `n` columns a subgroup computes at once, `least` to 4, as long as there
    are workgroups enough for a GPU, and returns how many a workgroup has."""
    assert gpu.subgroup_sizes is not None, "a subgroups kernel was chosen for a device without subgroups"
    subgroups = THREADS // gpu.subgroup_sizes[1]
    columns = next(c for c in (4, 2, 1) if n >= LEAST_GROUPS * c * subgroups * c or c == least)
    constants["COLUMNS"] = columns
    return columns * subgroups
