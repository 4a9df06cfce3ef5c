"""A row among few has the bits that it has alone: what a draft is verified by is what would have been without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import block_weight, uniform
from webxpu.gpu.frames import Result
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.variants import Planner
from webxpu.host.gpu_page import GpuPage
from webxpu.llm.state import State
from webxpu.ops._rows import DECODE_ROWS
from webxpu.ops.rope import rope_table
from webxpu.quant.kv import KV_TYPES, kv_spec, stored

PAGES = np.array([2, 0, 3, 1], np.int32)
POSITION, H, G, D = 123, 4, 2, 32
# What each cache type is tried with: norms of q and k, whether keys lie turned, and a window.
WAYS = {"f32": (False, "roped", 0), "f16": (False, "unroped", 70), "q8": (True, "unroped", 0)}


def at(row: int, rows: int) -> np.ndarray:
    return State(position=POSITION + row, rows=rows, capacity=256).to_words()


def by_every_plan(page: GpuPage, op: Op, args: tuple[Any, ...], **kwargs: Any) -> dict[str, Result]:
    planner = Planner(op, [spec_of(a) for a in args], kwargs)
    planner.add(page.gpu)
    planner.add_all(page.gpu)
    results = page.run(op, args, kwargs, [plan for _, plan in planner.found])
    return {name: result for (name, _), result in zip(planner.found, results, strict=True)}


@pytest.mark.parametrize("gpu_page", ["adapter"], indirect=True)
@pytest.mark.parametrize("kv", KV_TYPES)
def test_attention_gives_each_of_few_rows_the_bits_that_it_has_alone(gpu_page: GpuPage, kv: str) -> None:
    _, keys, window = WAYS[kv]
    spec = kv_spec(kv, 4, G, D)
    cache = stored(uniform((4, 2, 64, G, D), 3), spec.dtype)
    table = rope_table(256, D, base=100.0) if keys == "unroped" else None
    q = uniform((DECODE_ROWS, H, D), 4, amp=3)

    def run(row: int, rows: int) -> dict[str, Result]:
        args = (q[row : row + rows], cache, PAGES, at(row, rows), table)
        return by_every_plan(gpu_page, ops.attend, args, parts=3, window=window, pairs="half")

    many = run(0, DECODE_ROWS)
    assert {"attend/decode", "attend/decode.subgroups", "attend/decode.cpu"} <= many.keys()
    for row in (0, 4, DECODE_ROWS - 1):
        alone = run(row, 1)
        assert len(alone.keys() & many.keys()) >= 3
        for name in alone.keys() & many.keys():
            for all_rows, one in zip(many[name].outputs, alone[name].outputs, strict=True):
                np.testing.assert_array_equal(all_rows[row], one[0], err_msg=name)


@pytest.mark.parametrize("gpu_page", ["adapter"], indirect=True)
@pytest.mark.parametrize("kv", KV_TYPES)
def test_a_layer_starts_each_of_few_rows_with_the_bits_that_it_has_alone(gpu_page: GpuPage, kv: str) -> None:
    normed, keys, _ = WAYS[kv]
    spec = kv_spec(kv, 4, G, D)
    x, gain = uniform((DECODE_ROWS, 96), 1), uniform((96,), 2) + np.float32(1.5)
    n = (H + 2 * G) * D
    gains = [uniform((D,), seed) + np.float32(1.2) if normed else None for seed in (6, 7)]

    def run(row: int, rows: int) -> dict[str, Result]:
        args = (
            block_weight("q4_1", (n, 96)), x[row : row + rows], gain, rope_table(256, D, base=100.0),
            np.zeros(spec.shape, spec.dtype), PAGES, at(row, rows), uniform((n,), 5), *gains,
        )  # fmt: skip
        options = {"heads": H, "kv_heads": G, "eps": 1e-5, "pairs": "adjacent", "keys": keys}
        return by_every_plan(gpu_page, ops.norm_qkv, args, **options)

    many = run(0, DECODE_ROWS)
    assert any("subgroups" in name for name in many)
    for row in (0, 4, DECODE_ROWS - 1):
        alone = run(row, 1)
        shared = alone.keys() & many.keys()
        assert len(shared) >= 2
        page, slot = PAGES[(POSITION + row) // 64], (POSITION + row) % 64
        for name in shared:
            np.testing.assert_array_equal(many[name].outputs[0][row], alone[name].outputs[0][0], err_msg=name)
            (all_rows,), (one,) = many[name].written.values(), alone[name].written.values()
            assert one[page, :, slot].any()
            np.testing.assert_array_equal(all_rows[page, :, slot], one[page, :, slot], err_msg=name)
