"""Cases of attend and attend_combine: one row and many, parts with and without keys, grouped heads, padding, each cache
type, windows, keys that are turned when they are read.

What no row may read, keys past its own or before its window, other pages and padding, holds NaN.
"""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import F32, Case, Tolerance, uniform, wave
from webxpu.llm.state import State
from webxpu.ops.attend import LOWEST
from webxpu.ops.rope import rope_table
from webxpu.quant.kv import kv_spec, stored

TOLERANCE = Tolerance(1e-5, 5e-6, "worst 1.7e-6 absolute over 164 keys on SwiftShader, where a sum cancels")


def _cache(g: int, d: int, used: int, pages: int = 5) -> tuple[F32, np.ndarray[Any, Any]]:
    """A cache whose first `used` positions are filled and the page table that says where they are."""
    table = (np.arange(pages) * 3 % pages).astype(np.int32)
    cache = np.full((pages, 2, 64, g, d), np.nan, np.float32)
    positions = np.arange(used)
    filled = uniform((2, used, g, d), seed=d + used)
    cache[table[positions // 64], 0, positions % 64] = filled[0]
    cache[table[positions // 64], 1, positions % 64] = filled[1]
    return cache, table


def _waves(rows: int, h: int, g: int, d: int, position: int, valid: int, amp: float = 1.5) -> tuple[Any, ...]:
    cache, table = _cache(g, d, position + valid)
    q = wave(rows * h * d, 0.37, amp=amp).reshape(rows, h, d)
    q[valid:] = np.nan
    return q, cache, table, State(position=position, rows=valid, capacity=320).to_words()


def _held(
    kv: str, rows: int, h: int, g: int, d: int, position: int, valid: int, window: int = 0, table: int = 0
) -> tuple[Any, ...]:
    """As `_waves`, in a cache of any type; `table` is the rows of a rope table, 0 for keys that lie turned."""
    q, cache, pages, state = _waves(rows, h, g, d, position, valid)
    held = np.full(kv_spec(kv, len(cache), g, d).shape, *((0x7FC00000, "u4") if kv == "q8" else (np.nan, cache.dtype)))
    used = np.arange(max(0, position + 1 - window) if window else 0, position + valid)
    for which in (0, 1):
        rows_of = cache[pages[used // 64], which, used % 64]
        held[pages[used // 64], which, used % 64] = stored(rows_of, np.uint32 if kv == "q8" else np.float32)
    if kv == "f16":
        held = held.astype(np.float16)
    return q, held, pages, state, *([rope_table(table, d, base=100.0)] if table else [])


def _rising(rows: int, position: int) -> tuple[Any, ...]:
    """Scores that grow with the position, so that every tile has a new maximum."""
    q, cache, table, state = _waves(rows, 2, 1, 16, position, rows)
    q[...] = 0
    q[..., 0] = 4
    used = np.arange(position + rows)
    cache[table[used // 64], 0, used % 64, 0, 0] = 0.5 * used
    return q, cache, table, state


def _past_the_capacity(rows: int) -> tuple[Any, ...]:
    q, cache, table, _ = _waves(rows, 2, 1, 8, 98, rows)
    return q, cache, table, State(position=100 - rows // 2, rows=rows, capacity=100).to_words()


def _parts(rows: int, h: int, parts: int, d: int) -> tuple[F32, F32]:
    stats = np.stack(
        [uniform((rows, h, parts), 1, amp=3) + np.float32(100), uniform((rows, h, parts), 2) + np.float32(1.5)], axis=-1
    )
    acc = uniform((rows, h, parts, d), 3)
    empty = (np.arange(parts) % 3 == 2)[None, None, :]  # every third part has no keys
    stats = np.where(empty[..., None], np.array([LOWEST, 0], np.float32), stats)
    return np.where(empty[..., None], np.float32(0), acc), stats


def _no_keys() -> tuple[F32, F32]:
    acc, stats = _parts(2, 3, 2, 8)
    acc[0, 1] = 0
    stats[0, 1] = LOWEST, 0
    return acc, stats


_DECODE = [  # H, G, D, position, parts
    (9, 3, 64, 0, 1), (9, 3, 64, 3, 16), (9, 3, 64, 37, 1), (9, 3, 64, 199, 8), (4, 4, 16, 63, 3), (4, 1, 32, 64, 2),
    (6, 2, 80, 130, 3), (2, 1, 256, 100, 2), (3, 3, 4, 70, 2), (2, 1, 20, 255, 1), (4, 2, 128, 256, 5),
]  # fmt: skip
_PREFILL = [  # L, H, G, D, position, valid rows, parts
    (2, 4, 2, 16, 0, 2, 1), (16, 9, 3, 64, 0, 16, 1), (17, 4, 1, 32, 31, 17, 1), (40, 3, 3, 64, 60, 33, 1),
    (20, 4, 2, 80, 77, 20, 3), (18, 2, 1, 256, 40, 18, 1), (3, 6, 2, 128, 60, 3, 2), (9, 2, 2, 4, 200, 9, 4),
    (64, 2, 1, 12, 100, 64, 1),
]  # fmt: skip

# kv, L, H, G, D, position, valid rows, parts, window, rows of the table, pairs
_HELD: list[tuple[str, int, int, int, int, int, int, int, int, int, str]] = [
    *((kv, rows, 4, 2, 64, 70, valid, 3, 0, 0, "") for kv in ("f16", "q8") for rows, valid in ((1, 1), (20, 18))),
    *((kv, rows, 4, 2, 64, 150, rows, 3, 40, 0, "") for kv in ("f32", "q8") for rows in (1, 20)),
    *(
        (kv, rows, 4, 2, 64, 70, rows, 3, 0, 256, pairs)
        for kv, pairs in (("f32", "adjacent"), ("f32", "half"), ("q8", "half"))
        for rows in (1, 20)
    ),
    *(("f32", rows, 2, 1, 24, 90, rows, 2, 0, 60, "half") for rows in (1, 11)),
    *(("f32", rows, 2, 1, 16, 30, rows, 2, window, 0, "") for rows, window in ((1, 31), (1, 100), (20, 32))),
    *(("q8", rows, 2, 1, 256, 66, rows, 1, 64, 80, "adjacent") for rows in (1, 17)),
    *(("f16", rows, 2, 1, 12, 66, rows, 2, 0, 0, "") for rows in (9, 10)),
]


def _held_case(
    kv: str, rows: int, h: int, g: int, d: int, at: int, valid: int, parts: int, window: int, table: int, pairs: str
) -> Case:
    name = (
        f"{kv}-{rows}-rows-{h}.{g}.{d}-at-{at}" + f"-window-{window}" * (window > 0) + f"-turned-{pairs}" * (table > 0)
    )
    options: dict[str, Any] = {"parts": parts, **({"window": window} if window else {})}
    if table:
        options["pairs"] = pairs
    make = partial(_held, kv, rows, h, g, d, at, valid, window, table)
    return Case("attend", name, make, options, quick=kv == "q8" and rows == 1 and d == 64 and bool(table))


CASES = [
    *(
        Case("attend", f"one-row-{h}.{g}.{d}-at-{n}-in-{p}", partial(_waves, 1, h, g, d, n, 1), {"parts": p}, n == 199)
        for h, g, d, n, p in _DECODE
    ),
    *(
        Case(
            "attend", f"{rows}-rows-{h}.{g}.{d}-at-{n}-in-{p}", partial(_waves, rows, h, g, d, n, valid), {"parts": p},
            quick=rows == 40,
        )
        for rows, h, g, d, n, valid, p in _PREFILL
    ),
    *(_held_case(*held) for held in _HELD),
    *(Case("attend", f"rising-{rows}", partial(_rising, rows, 209), {"parts": 1}) for rows in (1, 17)),
    *(
        Case(
            "attend", f"steep-{rows}", partial(_waves, rows, 4, 2, 32, 90, rows, 200), {"parts": 2},
            tolerance=Tolerance(1e-4, 1e-4, "scores near 300 are exact to 3e-5, which exp makes relative"),
        )
        for rows in (1, 16)
    ),
    *(
        Case("attend", f"scale-{rows}", partial(_waves, rows, 2, 1, 16, 50, rows), {"parts": 1, "scale": 0.4})
        for rows in (1, 16)
    ),
    *(Case("attend", f"past-the-capacity-{n}", partial(_past_the_capacity, n), {"parts": 2}) for n in (1, 6, 16)),
    *(Case("attend", f"only-padding-{rows}", partial(_waves, rows, 2, 1, 8, 5, 0), {"parts": 1}) for rows in (3, 16)),
    *(
        Case("attend_combine", f"{rows}x{h}x{p}x{d}", partial(_parts, rows, h, p, d), quick=h == 9)
        for rows, h, p, d in [(1, 9, 16, 64), (1, 2, 1, 4), (5, 3, 3, 20), (17, 4, 2, 256)]
    ),
    Case("attend_combine", "no-keys", _no_keys),
]  # fmt: skip
