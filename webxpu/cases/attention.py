"""Cases of attention: lengths about a tile's, causal from both corners, masks of every kind, rows that see nothing.

The inputs are used by the cases of flash_attention and gqa too. Most cases share sizes, and so compiled kernels.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import F32, Case, Tolerance, halves, uniform, wave

TOLERANCE = Tolerance(1e-5, 2e-6, "worst 7e-7 absolute, of out over 209 keys, on SwiftShader")
HALF = Tolerance(1.5e-3, 1e-3, "worst 1.2e-4 absolute on an NVIDIA H200; out is made of rounded probs, and may cancel")

Arrays = tuple[Any, ...]
# torch's lowest float32 (what transformers masks with), the literal next to it that other kernels use, and -inf.
LOWEST = float(np.finfo(np.float32).min)
NEARLY_LOWEST = -3.402823e38


def at(offset: int) -> NDArray[np.int32]:
    return np.array([offset], np.int32)


def waves(b: int, h: int, g: int, length: int, s: int, d: int, dv: int) -> tuple[F32, F32, F32]:
    """q (B, H, L, D), k (B, G, S, D), v (B, G, S, Dv)."""
    return (
        wave(b * h * length * d, 0.37).reshape(b, h, length, d),
        wave(b * g * s * d, 0.11, 0.5).reshape(b, g, s, d),
        wave(b * g * s * dv, 0.23, 1.25).reshape(b, g, s, dv),
    )


def small(length: int, s: int, *extra: Any) -> Arrays:
    """Two samples of three heads, widths 8 and 5, and what is given for mask and query_offset."""
    return (*waves(2, 3, 3, length, s, 8, 5), *extra)


def masked(shape: tuple[int, int, int], length: int, s: int) -> Arrays:
    """`small` with a mask of (mb, mh, mr, S), different in each row that it has."""
    return small(length, s, uniform((*shape, s), seed=sum(shape) + s, amp=2))


def hidden(value: float, length: int = 4, s: int = 70) -> Arrays:
    """Sample 0 has rows that are all `value` beside live ones, and a row of which one key of the last tile is left;
    sample 1 has one of which one key of the first is left, and but for its last row is all `value`."""
    mask = uniform((2, 1, length, s), seed=3)
    mask[0, 0, 0] = mask[0, 0, 2] = mask[1, 0, : length - 1] = value
    mask[0, 0, 3, np.arange(s) != s - 3] = value
    mask[1, 0, 1, 2] = 0
    return small(length, s, mask)


def dead_sample(length: int = 5, s: int = 70) -> Arrays:
    """A mask (2, 1, 1, S) that hides all keys of sample 0, and of sample 1 the first tile and every third key."""
    mask = np.zeros((2, 1, 1, s), np.float32)
    mask[0] = mask[1, ..., :64] = mask[1, ..., ::3] = -np.inf
    return small(length, s, mask)


def direction() -> Arrays:
    """Only key 3 of 5 answers, so that under a causal mask rows 0 to 2 have nothing but equal scores."""
    q, k, v = small(5, 5)
    k[...] = 0
    k[:, :, 3] = 20
    return np.abs(q) + np.float32(0.5), k, v


def overflow(s: int = 5) -> Arrays:
    """Scores 0, 75, 150, ...: exponentials overflow unless the largest is subtracted, which lies in the last tile."""
    q, k, v = small(3, s)
    q[...], k[...] = 0, 0
    q[..., 0], k[..., 0] = np.sqrt(np.float32(8)), np.minimum(75 * np.arange(s), 75 * (4 + np.arange(s) // 100))
    return q, k, v


def strides() -> Arrays:
    """Every head of every sample has values of its own, all alike, so each output must be just that."""
    q, k, _ = small(4, 7)
    v = np.broadcast_to(1 + np.arange(6, dtype=np.float32).reshape(2, 3, 1, 1), (2, 3, 7, 5))
    return q, k, v.copy()


def rescale(s: int = 209) -> Arrays:
    """Scores that rise with the key, so that every tile has a new largest."""
    q, k, v = small(3, s)
    q[..., 0], k[..., 0] = 3, np.float32(0.05) * np.arange(s, dtype=np.float32)
    return q, k, v


def unseen() -> Arrays:
    """Causal queries at 3 to 7 of a cache of 20 whose positions past 7 hold infinities and NaNs."""
    q, k, v = small(5, 20)
    k[:, :, 8:], v[:, :, 8:] = np.nan, np.inf
    return q, k, v, None, at(3)


def narrowed(make: Callable[[], Arrays]) -> Arrays:
    """The same with q, k and v in float16."""
    q, k, v, *extra = make()
    return (*halves((q, k, v)), *extra)


# Name, inputs, options, quick. flash_attention runs them too; grouped_attention, of attention's own kernels, a few.
SHARED: list[tuple[str, Callable[[], Arrays], dict[str, Any], bool]] = [
    ("one", partial(waves, 1, 1, 1, 1, 1, 1, 1), {}, False),
    *(
        (f"{n}x{s}", partial(small, n, s), {}, s == 300)
        for n, s in [(5, 7), (9, 4), (2, 63), (2, 64), (3, 65), (4, 300)]
    ),
    *(
        (f"{n}x{s}-causal", partial(small, n, s), {"causal": True}, n == 5)
        for n, s in [(5, 7), (9, 4), (3, 300), (20, 20)]
    ),
    *(
        (f"{n}x{s}-causal-at-{o}", partial(small, n, s, None, at(o)), {"causal": True}, False)
        for n, s, o in [(3, 7, 4), (3, 7, 0), (1, 209, 204), (4, 209, 63), (3, 5, 2**31 - 1)]
    ),
    *(
        (f"mask-{'.'.join(map(str, shape))}.{s}", partial(masked, shape, n, s), {}, s == 70)
        for shape, n, s in [
            ((2, 1, 1), 4, 7), ((2, 3, 4), 4, 70), ((1, 3, 4), 4, 7), ((2, 3, 1), 4, 300), ((2, 1, 4), 4, 7),
            ((1, 1, 1), 4, 7),
        ]
    ),
    *(
        (f"hidden-by-{name}", partial(hidden, value), {}, name == "minus-infinity")
        for name, value in [("minus-infinity", -np.inf), ("the-lowest", LOWEST), ("nearly-the-lowest", NEARLY_LOWEST)]
    ),
    ("dead-sample", dead_sample, {}, False),
    ("direction", direction, {"causal": True}, False),
    ("overflow", overflow, {}, False),
    ("overflow-in-the-last-tile", partial(overflow, 209), {}, False),
    ("strides", strides, {}, False),
    ("rescale", rescale, {}, False),
    ("unseen", unseen, {"causal": True}, False),
    ("many-rows-causal", partial(small, 70, 67), {"causal": True}, False),
    ("wide", partial(waves, 1, 4, 4, 5, 73, 300, 300), {}, False),
    ("scale", partial(small, 5, 7), {"scale": 0.25}, False),
    ("no-queries", partial(small, 0, 7), {}, False),
]  # fmt: skip
HALVES: list[tuple[str, Callable[[], Arrays], dict[str, Any]]] = [
    ("4x300", partial(small, 4, 300), {}),
    ("9x4-causal", partial(small, 9, 4), {"causal": True}),
    ("3x7-causal-at-4", partial(small, 3, 7, None, at(4)), {"causal": True}),
    ("mask", partial(masked, (2, 3, 4), 4, 71), {}),
    ("hidden-by-minus-infinity", partial(hidden, -np.inf), {}),
    ("many-rows", partial(small, 70, 67), {}),
]


def cases_of(op: str, half: Tolerance) -> list[Case]:
    """The shared cases for one of the ops, in both dtypes."""
    return [
        *(Case(op, name, make, kwargs, quick) for name, make, kwargs, quick in SHARED),
        *(Case(op, f"{name}-f16", partial(narrowed, make), kwargs, tolerance=half) for name, make, kwargs in HALVES),
    ]


CASES = cases_of("attention", HALF)
