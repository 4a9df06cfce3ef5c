"""The different plans of one op call: what devices of every kind would be given, for tests with and without a GPU."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from webxpu.gpu import plan as plans
from webxpu.gpu.kernels import variants
from webxpu.gpu.op import Op
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.target import Gpu

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
            names = dict.fromkeys(f"{d.kernel.op}/{d.kernel.variant.name}" for d in plan.dispatches)
            self.found.append((" + ".join(names) + note, plan))
        return plan

    def add_all(self, gpu: Gpu, targets: Sequence[str | None] = (None, "cpu")) -> None:
        """For the device as it is and as if it were of each of `targets`, which may choose other kernels: by every
        variant of each kernel; with the tiles and lanes that big inputs get; for subgroups larger than they turn out to
        be; and with folded grids."""
        for target in (gpu.target, *targets):
            known = replace(gpu, target=target)
            own = self.add(known)
            for folder, entry, dtype in {
                (d.kernel.op, d.kernel.variant.entry, d.kernel.variant.dtype): 0 for d in own.dispatches
            }:
                for variant in variants(folder):
                    if (variant.entry, variant.dtype) == (entry, dtype) and gpu.features.issuperset(variant.features):
                        self.add(known.override({".".join(filter(None, (f"{folder}/{entry}", dtype))): variant.name}))
            with pytest.MonkeyPatch.context() as patch:
                for module, constant in thresholds():
                    patch.setattr(module, constant, 1)
                self.add(known, " as for big inputs")
            if gpu.subgroup_sizes is not None:
                self.add(replace(known, subgroup_sizes=(gpu.subgroup_sizes[0], 64)), " planned for 64 lanes")
            if all(d.grid[1] == 1 for d in own.dispatches):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(plans, "MAX_GROUPS", FEW_GROUPS)
                    self.add(known, " folded")


def thresholds() -> list[tuple[Any, str]]:
    """The constants `_BUSY...` of op modules: how much work a big GPU wants before its threads take more each."""
    modules = [module for name, module in sys.modules.items() if name.startswith("webxpu.ops.")]
    return [(module, name) for module in modules for name in vars(module) if name.startswith("_BUSY")]


def work(plan: Plan) -> list[tuple[Any, ...]]:
    """What a plan does, whatever the way on which its kernels were found."""
    return [(d.kernel.label, dict(d.constants), list(d.bindings), d.grid) for d in plan.dispatches]
