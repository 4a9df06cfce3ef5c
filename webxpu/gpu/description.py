"""What a device is and which kernels it gets, as text for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webxpu.gpu.target import FEATURES, Gpu
from webxpu.gpu.variants import choices


def description(gpu: Gpu) -> str:
    """Adapter, target and why, kernel features, and for each op's entry the kernel that `resolve` chooses, by which
    rung and after which names."""
    sizes = gpu.subgroup_sizes
    lanes = f" of {' to '.join(map(str, dict.fromkeys(sizes)))} lanes" if sizes else ""
    have = [name + (lanes if name == "subgroups" else "") for name in sorted(gpu.features)]
    lack = [f"{name} (needs {' and '.join(FEATURES[name])})" for name in sorted(set(FEATURES) - gpu.features)]
    facts = [
        ("adapter", adapter_name(gpu.info)),
        ("target", f"{gpu.target or 'unknown'}: {gpu.why}"),
        ("features", ", ".join(have) or "none"),
        ("lacks", ", ".join(lack) or "nothing"),
    ]
    return f"{aligned(facts)}\n\n{kernel_table(gpu)}"


def kernel_table(gpu: Gpu) -> str:
    """A line for each entry of each op: the kernel, the rung that chose it, and the names that were tried."""
    rows = [("entry", "kernel", "rung", "tried")]
    for kernel in choices(gpu):
        entry = ".".join(filter(None, (kernel.variant.entry, kernel.variant.dtype)))
        rows.append((f"{kernel.op}/{entry}", kernel.variant.name, kernel.rung, " ".join(kernel.tried)))
    return aligned(rows)


def adapter_name(info: Mapping[str, Any]) -> str:
    """An adapter in words: its description where it has one, else vendor and architecture."""
    words = [str(info.get(key) or "") for key in ("vendor", "architecture")]
    return str(info.get("description") or " ".join(filter(None, words)) or "an adapter without a name")


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Lines of text whose columns stand under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)).rstrip() for row in rows)
