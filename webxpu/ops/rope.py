"""Rotary position embedding from a table of cosines and sines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from webxpu.errors import ShapeError
from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, out
from webxpu.gpu.target import Gpu

Pairs = Literal["adjacent", "half"]
# Numbers of the pairings in kernels/rope.
PAIRS = {"adjacent": 0, "half": 1}


def rope_table(positions: int, d: int, *, base: float, freq_factors: ArrayLike | None = None) -> NDArray[np.float32]:
    """Cosine and sine of `position * base ** (-2 i / D)` for pair i: float64 angles, narrowed once.

    positions     how many, from 0
    d             D, the head's width, even
    freq_factors  (D / 2,) divisors of the frequencies, as some files carry them
    returns       (positions, D / 2, 2) float32
    """
    check(d >= 2 and d % 2 == 0, "rope_table", "d", "even and at least 2", d)
    frequencies = np.float64(base) ** (-2 * np.arange(d // 2) / d)
    if freq_factors is not None:
        frequencies = frequencies / np.asarray(freq_factors, np.float64)
    angles = np.arange(positions)[:, None] * frequencies
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1).astype(np.float32)


@op
def rope(
    x: NDArray[np.float32], positions: NDArray[np.int32], table: NDArray[np.float32], *, pairs: Pairs
) -> NDArray[np.float32]:
    """Turns pairs of channels by their row's angle: `a cos - b sin, a sin + b cos`.

    x          (L, H, D) float32, D even
    positions  (L,) int32: the table's row for each row of x
    table      (P, D / 2, 2) float32 of cosine and sine, see `rope_table`
    pairs      "adjacent": channels 2 i and 2 i + 1; "half": channels i and i + D / 2 (transformers' rotate_half)
    returns    (L, H, D) float32; computed in float64 (float32 on the GPU)

    A position outside the table raises ShapeError here; the GPU takes the nearest row. Raises ShapeError.
    """
    for outside in positions[(positions < 0) | (positions >= len(table))]:
        raise ShapeError(f"rope: positions must be within the table's 0 to {len(table) - 1}, got {outside}")
    wide = x.astype(np.float64)
    cos, sin = np.moveaxis(table[positions].astype(np.float64)[:, None], -1, 0)  # (L, 1, D / 2)
    half = x.shape[2] // 2
    first, second = (
        (np.s_[..., 0::2], np.s_[..., 1::2]) if pairs == "adjacent" else (np.s_[..., :half], np.s_[..., half:])
    )
    result = np.empty_like(x)
    result[first] = wide[first] * cos - wide[second] * sin
    result[second] = wide[first] * sin + wide[second] * cos
    return result


@rope.spec
def _(x: Spec, positions: Spec, table: Spec, *, pairs: Pairs) -> Spec:
    check(x.dtype == "float32" and len(x.shape) == 3, "rope", "x", "float32 of shape (L, H, D)", x)
    length, _, d = x.shape
    check(d >= 2 and d % 2 == 0, "rope", "x", "of an even width D", x)
    check(
        positions.dtype == "int32" and positions.shape == (length,), "rope", "positions", f"int32[{length}]", positions
    )
    rule = f"float32[P, {d // 2}, 2] with P >= 1"
    check(table.dtype == "float32" and table.shape[1:] == (d // 2, 2) and table.size, "rope", "table", rule, table)
    check(pairs in PAIRS, "rope", "pairs", f"one of {', '.join(PAIRS)}", repr(pairs))
    return x


@rope.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, positions: Spec, table: Spec, *, pairs: Pairs) -> Plan:
    _, h, d = x.shape
    constants = {"H": h, "D": d, "P": table.shape[0], "HALF": PAIRS[pairs]}
    kernel = resolve(gpu, "rope")
    return Plan([Dispatch(kernel, constants, [arg(0), arg(1), arg(2), out(0)], flat_grid(x.size // 2))])
