"""A row among a few has the bits that it has alone, by every kind of kernel: what is drafted is verified exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import uniform
from webxpu.cases.project import weight_of
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.target import Gpu
from webxpu.host.gpu_page import GpuPage
from webxpu.llm.state import State

OTHERS = ("f32", "q8_0", "q4_k")
K, N, HEADS, PARTS = 256, 70, 8, 3
Arguments = tuple[Any, ...]


def project(weight: Any, rows: slice) -> tuple[Op, Arguments, dict[str, Any]]:
    return ops.project, (weight, uniform((9, K), 1)[rows], uniform((9, N), 2)[rows]), {}


def attend_project(weight: Any, rows: slice) -> tuple[Op, Arguments, dict[str, Any]]:
    acc = uniform((9, HEADS, PARTS, K // HEADS), 3)[rows]
    shares = np.stack([uniform((9, HEADS, PARTS), 4, amp=3), uniform((9, HEADS, PARTS), 5) + np.float32(1.5)], axis=-1)
    return ops.attend_project, (weight, acc, shares[rows], uniform((9, N), 2)[rows]), {}


def gate_up(weight: Any, rows: slice) -> tuple[Op, Arguments, dict[str, Any]]:
    gain = uniform((K,), 6) + np.float32(1.5)
    return ops.norm_gate_up, (weight, uniform((9, K), 1, amp=0.3)[rows], gain), {"eps": 1e-5}


def head(weight: Any, rows: slice) -> tuple[Op, Arguments, dict[str, Any]]:
    gain, x = uniform((K,), 6) + np.float32(1.5), uniform((9, K), 1)[rows]
    op = ops.norm_head_rows if len(x) > 1 else ops.norm_head
    return op, (weight, x, gain, State(capacity=64).to_words()), {"eps": 1e-5}


def best(weight: Any, rows: slice) -> tuple[Op, Arguments, dict[str, Any]]:
    op, args, options = head(weight, rows)
    return (ops.norm_head_rows_argmax if op is ops.norm_head_rows else ops.norm_head_argmax), args, options


def devices(page: GpuPage, layer: Callable[..., Any]) -> dict[str, Gpu]:
    """The device as it is, as a GPU without and with subgroups, and as one with little memory and few threads."""
    plain = replace(page.gpu, target=None, features=frozenset())
    found = {"own": page.gpu, "portable": plain}
    if "subgroups" in page.gpu.features:
        found["subgroups"] = plain = replace(page.gpu, target=None, features=frozenset({"subgroups"}))
    tight = {"maxComputeWorkgroupStorageSize": 2 * 4 * K, "maxComputeInvocationsPerWorkgroup": 32}
    if layer in (attend_project, head):
        found["tight"] = replace(plain, limits={**page.gpu.limits, **tight})
    return found


def ran(page: GpuPage, call: tuple[Op, Arguments, dict[str, Any]], gpus: list[Gpu]) -> list[list[np.ndarray]]:
    op, args, options = call
    plans = [op.plan_of(gpu, *map(spec_of, args), **options)[1] for gpu in gpus]
    return [result.outputs for result in page.run(op, args, options, plans)]


LAYERS = (project, attend_project, gate_up, head)


@pytest.mark.parametrize("gpu_page", ["adapter"], indirect=True)
@pytest.mark.parametrize(
    ("type_name", "rows", "layer"),
    [*(("q4_1", 9, layer) for layer in (*LAYERS, best)), *((t, 3, layer) for t in OTHERS for layer in LAYERS)],
)
def test_a_row_has_the_same_bits_alone(gpu_page: GpuPage, layer: Callable[..., Any], type_name: str, rows: int) -> None:
    weight = weight_of(type_name, N, K)
    found = devices(gpu_page, layer)
    together = ran(gpu_page, layer(weight, slice(9 - rows, 9)), list(found.values()))
    for row in {rows - 1, rows // 2}:
        last = 10 - rows + row
        alone = ran(gpu_page, layer(weight, slice(last - 1, last)), list(found.values()))
        for name, many, one in zip(found, together, alone, strict=True):
            for whole, single in zip(many, one, strict=True):
                assert whole[row].tobytes() == single.tobytes(), f"{name}, row {row}"


@pytest.mark.parametrize("gpu_page", ["adapter"], indirect=True)
@pytest.mark.parametrize(("type_name", "pairs"), [("q4_1", "half"), ("f32", "adjacent")])
def test_sequences_together_have_the_keys_and_queries_of_each_alone(
    gpu_page: GpuPage, type_name: str, pairs: str
) -> None:
    heads, kv_heads, d = 4, 2, 32
    how = {"heads": heads, "kv_heads": kv_heads, "pairs": pairs}
    weight, gain = weight_of(type_name, (heads + 2 * kv_heads) * d, K), uniform((K,), 6) + np.float32(1.5)
    x, table, cache = (
        uniform((4, K), 1),
        ops.rope_table(64, d, base=100.0),
        np.zeros((1, 2, 64, kv_heads, d), np.float32),
    )
    norms = [uniform((d,), seed) + np.float32(1.2) for seed in (7, 8)]  # with these norm_qkv is two kernels
    place = (table, cache, np.zeros(1, np.int32), State(position=9, capacity=64).to_words(), None, *norms)
    for name, gpu in devices(gpu_page, project).items():
        ((rows,),) = ran(gpu_page, (ops.norm_linear, (weight, x, gain), {"eps": 1e-5}), [gpu])
        one = (ops.norm_qkv, (weight, x[2:3], gain, *place), {**how, "eps": 1e-5})
        two = (ops.rope_write, (rows[2:3], *place), {**how, "eps": 1e-5})
        found = []
        for op, args, options in (one, two):
            plan = op.plan_of(gpu, *map(spec_of, args), **options)[1]
            (result,) = gpu_page.run(op, args, options, [plan])
            found.append((result.outputs[0].tobytes(), *(array.tobytes() for array in result.written.values())))
        assert found[0] == found[1], name
