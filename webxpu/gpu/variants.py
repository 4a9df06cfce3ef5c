"""The different plans of one op call: by every variant of each kernel that a device can run, used in every way."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from webxpu.data import data_folder
from webxpu.errors import Unsupported
from webxpu.gpu import plan as plans
from webxpu.gpu.kernels import DTYPES, Kernel, has_entry, resolve, variants
from webxpu.gpu.op import Op
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.target import FEATURES, Gpu

# A limit that nearly every grid passes, so that its kernels run folded too.
FEW_GROUPS = 3


class Planner:
    """`found` holds a name and a plan for each way of doing it that differs from the others."""

    def __init__(self, op: Op, specs: Sequence[Spec | None], kwargs: Mapping[str, Any]) -> None:
        self.op, self.specs, self.kwargs = op, specs, kwargs
        self.found: list[tuple[str, Plan]] = []

    def add(self, gpu: Gpu, note: str = "") -> Plan:
        """The plan for a device, kept unless an equal one is there already."""
        _, plan = self.op.plan_of(gpu, *self.specs, **self.kwargs)
        if all(work(plan) != work(other) for _, other in self.found):
            self.found.append((kernel_names(plan) + note, plan))
        return plan

    def add_all(self, gpu: Gpu, targets: Sequence[str | None] = (None, "cpu")) -> None:
        """For the device as it is and as if it were of each of `targets`, which may choose other kernels: by every
        variant of each kernel; with the tiles and lanes that big inputs get; for subgroups larger than they turn out to
        be; with folded grids; and in chunks, as where a binding is too large."""
        for target in dict.fromkeys((gpu.target, *targets)):
            known = replace(gpu, target=target)
            own = self.add(known)
            for folder, entry, dtype in {
                (d.kernel.op, d.kernel.variant.entry, d.kernel.variant.dtype): 0 for d in own.dispatches
            }:
                for variant in variants(folder):
                    if (variant.entry, variant.dtype) == (entry, dtype) and gpu.features.issuperset(variant.features):
                        self.add(known.override({".".join(filter(None, (f"{folder}/{entry}", dtype))): variant.name}))
            with _holding(*((module, constant, 1) for module, constant in thresholds())):
                self.add(known, " as for big inputs")
            if gpu.subgroup_sizes is not None:
                self.add(replace(known, subgroup_sizes=(gpu.subgroup_sizes[0], 64)), " planned for 64 lanes")
            if all(d.grid[1] == 1 for d in own.dispatches):
                with _holding((plans, "MAX_GROUPS", FEW_GROUPS)):
                    self.add(known, " folded")
            self.add(
                replace(known, limits={**known.limits, "maxStorageBufferBindingSize": self._tight()}), " in chunks"
            )

    def _tight(self) -> int:
        """A limit in bytes that the largest array of the call passes."""
        outputs = self.op.spec_of(*self.specs, **self.kwargs)
        return max(s.nbytes for s in [*self.specs, *outputs] if s) * 2 // 3

    def lacking(self, gpu: Gpu) -> dict[str, str]:
        """The kernels that a device with every feature could use for this call and `gpu` cannot, each with the WebGPU
        feature that is missing."""
        _, plan = self.op.plan_of(replace(gpu, features=frozenset(FEATURES)), *self.specs, **self.kwargs)
        found: dict[str, str] = {}
        for d in plan.dispatches:
            for variant in variants(d.kernel.op):
                if (variant.entry, variant.dtype) == (d.kernel.variant.entry, d.kernel.variant.dtype):
                    needs = {*variant.features, *filter(None, [variant.dtype])} - gpu.features
                    if needs:
                        found[f"{d.kernel.op}/{variant.name}"] = ", ".join(FEATURES[name][0] for name in sorted(needs))
        return found

    def needs(self, gpu: Gpu) -> str | None:
        """The WebGPU feature without which `gpu` cannot run this call at all; None where it can."""
        try:
            self.op.plan_of(gpu, *self.specs, **self.kwargs)
        except Unsupported:
            for dtype in set(DTYPES) - gpu.features:
                able = replace(gpu, features=gpu.features | {dtype})
                self.op.plan_of(able, *self.specs, **self.kwargs)
                return FEATURES[dtype][0]
            raise
        return None


def choices(gpu: Gpu) -> list[Kernel]:
    """The kernel that a device gets for each entry of each op, in f16 too where it has that."""
    wanted = dict.fromkeys((op, v.entry, v.dtype) for op in kernel_folders() for v in variants(op) if has_entry(gpu, v))
    return [resolve(gpu, op, entry, dtype=dtype) for op, entry, dtype in wanted]


def kernel_folders() -> list[str]:
    """The names of the folders in `kernels/` that belong to ops."""
    return sorted(path.name for path in data_folder("kernels").iterdir() if path.is_dir() and path.name[0] != "_")


def kernel_names(plan: Plan) -> str:
    """`sample/count + sample/draw`: the kernel files of a plan, each once."""
    return " + ".join(dict.fromkeys(f"{d.kernel.op}/{d.kernel.variant.name}" for d in plan.dispatches))


def thresholds() -> list[tuple[Any, str]]:
    """The constants `_BUSY...` of op modules: how much work a big GPU wants before its threads take more each."""
    modules = [module for name, module in sys.modules.items() if name.startswith("webxpu.ops.")]
    return [(module, name) for module in modules for name in vars(module) if name.startswith("_BUSY")]


def work(plan: Plan) -> list[tuple[Any, ...]]:
    """What a plan does, whatever the way on which its kernels were found."""
    return [(d.kernel.label, dict(d.constants), list(d.bindings), d.grid) for d in plan.dispatches]


@contextmanager
def _holding(*settings: tuple[Any, str, Any]) -> Iterator[None]:
    """Gives modules' constants other values until the block ends."""
    kept = [(module, name, getattr(module, name)) for module, name, _ in settings]
    try:
        for module, name, value in settings:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)
