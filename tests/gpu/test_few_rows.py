"""A program of a few rows has the pipelines of the one-row program: whatever a driver makes of them, bits agree."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ops.conftest import LIMITS
from webxpu import ops
from webxpu.gpu.op import Op
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.target import Gpu
from webxpu.ops._rows import DECODE_ROWS
from webxpu.quant.kv import KV_TYPES, kv_spec

N, HEADS, KV_HEADS, D, PARTS = 512, 4, 2, 64, 3
STATE, PAGES, TABLE = Spec((64,), "uint32"), Spec((8,), "int32"), Spec((512, D // 2, 2), "float32")
Call = tuple[Op, list[Spec], dict[str, Any]]


def floats(*shape: int) -> Spec:
    return Spec(shape, "float32")


def calls(rows: int, k: int, type_name: str, kv: str) -> list[Call]:
    """Every call of a decode step that sums, for a number of rows."""
    weight, x, gain, cache = Spec((N, k), type_name), floats(rows, k), floats(k), kv_spec(kv, 8, KV_HEADS, D)
    qkv: dict[str, Any] = {"heads": HEADS, "kv_heads": KV_HEADS, "eps": 1e-5, "pairs": "half"}
    parts = [floats(rows, k // D, PARTS, D), floats(rows, k // D, PARTS, 2)]
    head = (ops.norm_head, ops.norm_head_argmax) if rows == 1 else (ops.norm_head_rows, ops.norm_head_rows_argmax)
    return [
        (ops.norm_qkv, [weight, x, gain, TABLE, cache, PAGES, STATE], qkv),
        (ops.norm_qkv, [weight, x, gain, TABLE, cache, PAGES, STATE, floats(N), floats(D), floats(D)], qkv),
        (ops.attend, [floats(rows, HEADS, D), cache, PAGES, STATE], {"parts": PARTS}),
        (ops.attend_project, [weight, *parts, floats(rows, N)], {}),
        (ops.project, [weight, x], {}),
        (ops.norm_gate_up, [weight, x, gain], {"eps": 1e-5}),
        *((op, [weight, x, gain, STATE], {"eps": 1e-5}) for op in head),
    ]


def pipelines(plan: Plan) -> list[Any]:
    """What each dispatch compiles: module, constants, and how each binding is accessed."""
    return [(d.kernel.label, dict(d.constants), [b.access for b in d.bindings]) for d in plan.dispatches]


DEVICES = {
    "plain": Gpu(LIMITS),
    "subgroups": Gpu(LIMITS, frozenset({"subgroups"}), (32, 32)),
    "nvidia": Gpu(LIMITS, frozenset({"subgroups"}), (32, 32), "nvidia"),
    "cpu": Gpu(LIMITS, frozenset({"subgroups"}), (4, 4), "cpu"),
    "tight": Gpu({**LIMITS, "maxComputeWorkgroupStorageSize": 512}, frozenset({"subgroups"}), (32, 32)),
}


@pytest.mark.parametrize("gpu", DEVICES.values(), ids=DEVICES)
@pytest.mark.parametrize("kv", KV_TYPES)
@pytest.mark.parametrize("k", [256, 1024])
@pytest.mark.parametrize("type_name", ["float32", "q4_1", "q8_0", "q4_k"])
def test_few_rows_compile_what_one_row_compiles(gpu: Gpu, k: int, type_name: str, kv: str) -> None:
    alone = [pipelines(op.plan_of(gpu, *specs, **more)[1]) for op, specs, more in calls(1, k, type_name, kv)]
    for rows in (2, DECODE_ROWS):
        few = [pipelines(op.plan_of(gpu, *specs, **more)[1]) for op, specs, more in calls(rows, k, type_name, kv)]
        assert few == alone, f"{rows} rows"
