"""Cases of norm_qkv and rope_write: both pairings, every weight type, grouped heads, padding, the end of the table,
biases, norms of q and k, keys that are not turned, each cache type."""

from collections.abc import Mapping
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from webxpu.cases.cache import empty_cache
from webxpu.cases.case import MANY_CASES, Case, Tolerance, uniform
from webxpu.cases.project import weight_of
from webxpu.llm.state import State
from webxpu.ops.norm_qkv import norm_qkv, rope_write
from webxpu.ops.rope import rope_table
from webxpu.quant.kv import BLOCK, restored

TOLERANCE = Tolerance(1e-5, 1e-5, "worst 3.6e-6 absolute at K = 576 on SwiftShader, where a sum cancels")


F16 = Tolerance(1e-3, 1e-5, "float16 is rounded once on both sides, of values that differ by TOLERANCE")
# How far from a tie the codes of the q8 cases are, more than TOLERANCE is of 127.
SLACK = 1e-3


def _place(g: int, d: int, position: int, valid: int, capacity: int, table: int) -> tuple[Any, ...]:
    state = State(position=position, rows=valid, capacity=capacity).to_words()
    return rope_table(table, d, base=100.0), empty_cache("f32", 4, g, d), np.array([2, 0, 3, 1], np.int32), state


def _write(
    rows: int, h: int, g: int, d: int, position: int, valid: int, capacity: int = 256, table: int = 256
) -> tuple[Any, ...]:
    return uniform((rows, (h + 2 * g) * d), rows), *_place(g, d, position, valid, capacity, table)


def _norm(
    type_name: str, rows: int, k: int, h: int, g: int, d: int, position: int, *more: int, amp: float = 1
) -> tuple[Any, ...]:
    valid, capacity, table = (more + (rows, 256, 256)[len(more) :])[:3]
    weight = weight_of(type_name, (h + 2 * g) * d, k)
    x, gain = uniform((rows, k), 1, amp=amp), uniform((k,), 2) + np.float32(1.5)
    return weight, x, gain, *_place(g, d, position, valid, capacity, table)


def _more(args: tuple[Any, ...], h: int, g: int, bias: bool, norm: bool) -> tuple[Any, ...]:
    """The arguments with a bias, and with the gains of q and k."""
    d = args[-3].shape[4]
    added = uniform(((h + 2 * g) * d,), 5) if bias else None
    gains = [uniform((d,), seed) + np.float32(1.2) for seed in (6, 7)] if norm else [None, None]
    return (*args, added, *gains)


def _held(
    kv: str, op: str, rows: int, h: int, g: int, d: int, valid: int, bias: bool, norm: bool, options: Mapping[str, Any]
) -> tuple[Any, ...]:
    """A call on a cache of a type. What goes into q8 is settled: no code is near a tie."""
    for seed in count():
        args = _norm("f32", rows, 32, h, g, d, 61, valid) if op == "norm_qkv" else _write(rows, h, g, d, 61, valid)
        changed = list(_more(args, h, g, bias, norm))
        x, cache = (1, 4) if op == "norm_qkv" else (0, 2)
        changed[x] = uniform(args[x].shape, 20 + seed)
        if kv == "q8":
            (norm_qkv if op == "norm_qkv" else rope_write)(*changed, **options)
            if not _is_settled(changed[cache]):
                continue
        changed[cache] = empty_cache(kv, 4, g, d)
        return tuple(changed)
    raise AssertionError


def _is_settled(cache: Any) -> bool:
    blocks = cache.reshape(-1, BLOCK).astype(np.float64)
    codes = blocks / np.abs(blocks).max(axis=1, keepdims=True) * 127
    return bool((np.abs(codes - np.floor(codes) - 0.5) > SLACK).all())


def _held_case(
    kv: str, op: str, rows: int, h: int, g: int, d: int, valid: int, bias: bool, norm: bool, pairs: str, keys: str
) -> Case:
    options = _kw(h, g, pairs, keys=keys, eps=1e-5)
    more = "-bias" * bias + "-norm" * norm + f"-{keys}" * (keys == "unroped")
    return Case(
        op, f"{kv}-{rows}-rows-{h}.{g}.{d}-{pairs}{more}",
        partial(_held, kv, op, rows, h, g, d, valid, bias, norm, options), options,
        quick=kv == "q8" and norm and op == "norm_qkv", tolerance=F16 if kv == "f16" else None,
        decode=restored if kv == "q8" else None,
    )  # fmt: skip


def _kw(h: int, g: int, pairs: str, **more: Any) -> dict[str, Any]:
    return {"heads": h, "kv_heads": g, "pairs": pairs, **more}


# kv, op, L, H, G, D, valid rows, bias, norm, pairs, keys
_HELD: list[tuple[str, str, int, int, int, int, int, bool, bool, str, str]] = [
    *(("f16", "rope_write", 6, 4, 2, 16, 5, False, False, pairs, "roped") for pairs in ("adjacent", "half")),
    ("f16", "rope_write", 6, 4, 2, 10, 5, True, True, "half", "roped"),
    ("q8", "rope_write", 3, 2, 1, 64, 2, False, False, "half", "roped"),
    ("q8", "rope_write", 3, 2, 1, 64, 2, True, True, "adjacent", "unroped"),
    *(("f32", "rope_write", 6, 4, 2, 16, 5, True, norm, "half", "roped") for norm in (False, True)),
    ("f32", "rope_write", 6, 4, 2, 16, 5, False, True, "adjacent", "roped"),
    ("f32", "rope_write", 6, 4, 2, 16, 5, False, True, "half", "unroped"),
    *(("f32", "norm_qkv", rows, 4, 2, 16, rows, True, False, "half", "unroped") for rows in (1, 9)),
    *(("f16", "norm_qkv", rows, 4, 2, 16, rows, True, False, "adjacent", "roped") for rows in (1, 3)),
    ("f16", "norm_qkv", 1, 4, 2, 16, 1, False, False, "half", "roped"),
    *(("f32", "norm_qkv", rows, 4, 2, 16, rows, True, True, "half", "roped") for rows in (1, 9, 10)),
    *(("q8", "norm_qkv", rows, 4, 2, 32, rows, False, rows == 3, "half", "roped") for rows in (1, 3)),
]
CASES = [
    *(
        Case(
            "rope_write",
            f"{rows}-rows-{h}.{g}.{d}-at-{n}-{pairs}",
            partial(_write, rows, h, g, d, n, v),
            _kw(h, g, pairs),
            quick=h == 9,
        )
        for rows, h, g, d, n, v in [(1, 9, 3, 64, 70, 1), (6, 4, 2, 16, 61, 5), (3, 2, 2, 6, 0, 3)]
        for pairs in ("adjacent", "half")
    ),
    Case("rope_write", "past-the-capacity", partial(_write, 5, 2, 1, 8, 98, 5, 100), _kw(2, 1, "half")),
    Case("rope_write", "past-the-table", partial(_write, 5, 2, 1, 8, 20, 5, 256, 22), _kw(2, 1, "half")),
    *(
        Case("norm_qkv", f"{t}-one-row", partial(_norm, t, 1, 96, 4, 2, 16, 70), _kw(4, 2, "half", eps=1e-5))
        for t in ("f32", *MANY_CASES)
    ),
    Case("norm_qkv", "q4g128-one-row", partial(_norm, "q4g128", 1, 140, 4, 2, 16, 70), _kw(4, 2, "half", eps=1e-5)),
    Case("norm_qkv", "q4_k-one-row", partial(_norm, "q4_k", 1, 256, 4, 2, 16, 70), _kw(4, 2, "half", eps=1e-5)),
    *(
        Case("norm_qkv", f"{t}-ragged", partial(_norm, t, 1, 44, 4, 2, 16, 70), _kw(4, 2, "half", eps=1e-5))
        for t in ("f16", "bf16")
    ),
    Case(
        "norm_qkv", "smollm2", partial(_norm, "q4_1", 1, 576, 9, 3, 64, 65), _kw(9, 3, "adjacent", eps=1e-5), quick=True
    ),
    *(_held_case(*held) for held in _HELD),
    Case("norm_qkv", "narrow", partial(_norm, "f32", 1, 36, 3, 1, 10, 5), _kw(3, 1, "adjacent", eps=0.5)),
    Case("norm_qkv", "one-pair-a-head", partial(_norm, "q8_0", 1, 64, 5, 5, 2, 9), _kw(5, 5, "half", eps=1e-6)),
    Case("norm_qkv", "large-x", partial(_norm, "q4_0", 1, 64, 2, 1, 8, 63, amp=300.0), _kw(2, 1, "half", eps=1e-5)),
    Case(
        "norm_qkv", "past-the-capacity", partial(_norm, "f32", 1, 32, 2, 1, 8, 100, 1, 100), _kw(2, 1, "half", eps=1e-5)
    ),
    Case(
        "norm_qkv", "past-the-table", partial(_norm, "f32", 1, 32, 2, 1, 8, 50, 1, 256, 22), _kw(2, 1, "half", eps=1e-5)
    ),
    *(
        Case("norm_qkv", f"{t}-rows", partial(_norm, t, 7, 64, 4, 2, 16, 60, 5), _kw(4, 2, pairs, eps=1e-5))
        for t, pairs in [("f32", "half"), ("q4_1", "adjacent")]
    ),
]
