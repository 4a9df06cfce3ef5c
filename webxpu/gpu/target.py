"""What kind of GPU this is: the vendor token that picks kernels, and why it was picked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

TARGETS = ("amd", "apple", "cpu", "nvidia", "soc")
_VENDOR_TOKENS = {
    "nvidia": "nvidia",
    "amd": "amd",
    "ati": "amd",
    "radeon": "amd",
    "apple": "apple",
    **dict.fromkeys(("qualcomm", "adreno", "arm", "mali", "imagination", "powervr", "samsung"), "soc"),
}
# Kernel features, each with the WebGPU features and WGSL language extensions that a device must have for it.
FEATURES: Mapping[str, tuple[str, ...]] = {
    "f16": ("shader-f16",),
    "subgroups": ("subgroups", "subgroup_id"),
    "dp4a": ("packed_4x8_integer_dot_product",),
    "sgmat": ("chromium-experimental-subgroup-matrix",),
}


@dataclass(frozen=True)
class Gpu:
    """A device as plans see it: plain data, made from the bridge's report or by hand in a test.

    `limits` are the device's own; `features` are kernel features (see FEATURES); `target` is one of TARGETS or None
    for unknown, with the reason in `why`. `overrides` maps "op/entry", or "op/entry.f16"
    for kernels of that dtype, to a variant's file stem. `timestamps` says whether the GPU's own time can be measured.
    """

    limits: Mapping[str, int]
    features: frozenset[str] = frozenset()
    subgroup_sizes: tuple[int, int] | None = None
    target: str | None = None
    why: str = "no adapter was described"
    info: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)
    timestamps: bool = False

    def override(self, overrides: Mapping[str, str]) -> Gpu:
        """The same device with kernels named by hand: `{"matvec/kernel": "kernel.subgroups"}`."""
        return replace(self, overrides={**self.overrides, **overrides})


def detect_target(info: Mapping[str, Any]) -> tuple[str | None, str]:
    """The target token of an adapter's info and the reason; None is a normal answer and means portable kernels."""
    if info.get("isFallbackAdapter"):
        return "cpu", "the adapter is a fallback adapter: it computes on the CPU"
    vendor = str(info.get("vendor") or "").lower()
    if not vendor:
        return None, "the adapter names no vendor"
    if "swiftshader" in (vendor, str(info.get("architecture") or "").lower()):
        return "cpu", "the adapter is SwiftShader: it computes on the CPU"
    tokens = re.split(r"[^a-z0-9]+", vendor)
    for token in tokens:
        if token in _VENDOR_TOKENS:
            return _VENDOR_TOKENS[token], f"the vendor {vendor!r} contains {token!r}"
    if "intel" in tokens:
        return None, "the vendor 'intel' covers both integrated and discrete GPUs"
    return None, f"the vendor {vendor!r} is not one that kernels are tuned for"


def describe(report: Mapping[str, Any]) -> Gpu:
    """A `Gpu` from the bridge's report of an open device: its info, limits, features and WGSL extensions."""
    info = dict(report.get("info", {}))
    has = {*report.get("features", ()), *report.get("wgslFeatures", ())}
    features = frozenset(name for name, needs in FEATURES.items() if has.issuperset(needs))
    sizes = info.get("subgroupMinSize"), info.get("subgroupMaxSize")
    target, why = detect_target(info)
    return Gpu(
        limits=dict(report["limits"]),
        features=features,
        subgroup_sizes=(int(sizes[0]), int(sizes[1])) if sizes[0] and sizes[1] and "subgroups" in features else None,
        target=target,
        why=why,
        info=info,
        timestamps="timestamp-query" in has,
    )
