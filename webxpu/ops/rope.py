"""Rotary position embedding: by a table of cosines and sines, or by angles that the kernel computes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from webxpu.errors import ShapeError
from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, fold, in_chunks, out
from webxpu.gpu.target import Gpu
from webxpu.ops._rope_frequencies import (
    F64,
    NtkScaling,
    RopeFrequencies,
    Scaling,
    YarnScaling,
    frequencies,
    frequency_params,
    llama3_freq_factors,
    rope_frequency_params,
)

__all__ = [
    "PAIRS",
    "NtkScaling",
    "Pairs",
    "RopeFrequencies",
    "YarnScaling",
    "llama3_freq_factors",
    "permute_rope_channels",
    "rope",
    "rope_axes",
    "rope_frequency_params",
    "rope_table",
]
Pairs = Literal["adjacent", "half"]
# Numbers of the pairings in kernels/rope.
PAIRS = {"adjacent": 0, "half": 1}
# Heads for which a thread of kernels/rope/axes.wgsl turns the pair whose angle it computed.
_HEADS = 8


def rope_table(
    positions: int,
    d: int,
    *,
    base: float,
    freq_factors: ArrayLike | None = None,
    scaling: Scaling | None = None,
) -> NDArray[np.float32]:
    """Cosine and sine of `position * base ** (-2 i / D)` for pair i: float64 angles, narrowed once.

    positions     how many, from 0
    d             D, the head's width, even
    base          above 1; 10,000 in most models
    freq_factors  (D / 2,) divisors of the frequencies, as some files carry them; see `llama3_freq_factors`
    scaling       None, NtkScaling or YarnScaling; the attention factor multiplies cosine and sine
    returns       (positions, D / 2, 2) float32

    Raises ShapeError.
    """
    params = frequency_params("rope_table", d, base, scaling)
    turns = frequencies(d, params)
    if freq_factors is not None:
        factors = np.asarray(freq_factors, np.float64)
        check(factors.shape == (d // 2,), "rope_table", "freq_factors", f"of shape ({d // 2},)", factors.shape)
        turns = turns / factors
    angles = np.arange(positions)[:, None] * turns
    table = np.stack([np.cos(angles), np.sin(angles)], axis=-1) * params.attention_factor
    return np.asarray(table, np.float32)


def permute_rope_channels(weight: NDArray[Any], heads: int) -> NDArray[Any]:
    """Rows of a q or k projection whose heads pair channels i and i + D / 2, so that they pair 2 i and 2 i + 1.

    weight   (heads * D, ...), any dtype
    returns  the same shape: in each head row 2 i is the old row i, row 2 i + 1 the old row i + D / 2

    Values are moved, not computed. Raises ShapeError where the rows are not `heads` heads of an even width.
    """
    rule = f"of {heads} heads of an even width"
    check(heads >= 1 and len(weight) % (2 * heads) == 0, "permute_rope_channels", "weight", rule, weight.shape)
    halves = weight.reshape(heads, 2, -1, *weight.shape[1:])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(weight.shape)


@op
def rope(
    x: NDArray[np.float32],
    positions: NDArray[Any],
    table: NDArray[np.float32] | None = None,
    *,
    pairs: Pairs,
    base: float | None = None,
    scaling: Scaling | None = None,
    head_offset: int = 0,
    head_count: int | None = None,
) -> NDArray[np.float32]:
    """Turns pairs of channels by their row's angle: `a cos - b sin, a sin + b cos`. With pairs="half" it is
    `transformers.models.llama.modeling_llama.apply_rotary_pos_emb` for q or for k.

    x          (L, H, D) float32, D even
    positions  (L,) int32: with a table its row for each row of x, else any number; then float32 too, on the GPU below
               2^32 in magnitude
    table      (P, D / 2, 2) float32 of cosine and sine, see `rope_table`; None computes the angles, as that
               would
    pairs      "adjacent": channels 2 i and 2 i + 1; "half": channels i and i + D / 2 (transformers' rotate_half)
    base       of the frequencies, above 1; only without a table, which has it
    scaling    None, NtkScaling or YarnScaling; likewise only without a table
    head_offset, head_count  the heads that turn, all from head_offset on where head_count is None; others are copied
    returns    (L, H, D) float32; computed in float64 (float32 on the GPU, the angles in 2^-64 of a turn)

    A position outside the table raises ShapeError here; the GPU takes the nearest row. Raises ShapeError.
    """
    if table is None:
        assert base is not None
        params = frequency_params("rope", x.shape[2], base, scaling)
        angles = positions.astype(np.float64)[:, None] * frequencies(x.shape[2], params)
        cos, sin = np.cos(angles) * params.attention_factor, np.sin(angles) * params.attention_factor
    else:
        for outside in positions[(positions < 0) | (positions >= len(table))]:
            raise ShapeError(f"rope: positions must be within the table's 0 to {len(table) - 1}, got {outside}")
        cos, sin = np.moveaxis(table[positions].astype(np.float64), -1, 0)  # (L, D / 2)
    heads = slice(head_offset, None if head_count is None else head_offset + head_count)
    result = x.copy()
    result[:, heads] = _turn(x[:, heads], cos, sin, pairs)
    return result


@rope.spec
def _(
    x: Spec,
    positions: Spec,
    table: Spec | None = None,
    *,
    pairs: Pairs,
    base: float | None = None,
    scaling: Scaling | None = None,
    head_offset: int = 0,
    head_count: int | None = None,
) -> Spec:
    length, h, d = _check_x("rope", x)
    dtypes = ("int32",) if table is not None else ("int32", "float32")
    rule = " or ".join(f"{dtype}[{length}]" for dtype in dtypes)
    check(positions.dtype in dtypes and positions.shape == (length,), "rope", "positions", rule, positions)
    check(pairs in PAIRS, "rope", "pairs", f"one of {', '.join(PAIRS)}", repr(pairs))
    last = h if head_count is None else head_offset + head_count
    got = f"{head_offset} to {last}"
    check(0 <= head_offset <= last <= h, "rope", "head_offset and head_count", f"a head range within 0 to {h}", got)
    if table is None:
        check(base is not None, "rope", "base", "given where table is not", base)
        assert base is not None
        frequency_params("rope", d, base, scaling)
        return x
    rule = f"float32[P, {d // 2}, 2] with P >= 1"
    check(table.dtype == "float32" and table.shape[1:] == (d // 2, 2) and table.size, "rope", "table", rule, table)
    check(base is None, "rope", "base", "None where a table is given: the table has it", base)
    check(scaling is None, "rope", "scaling", "None where a table is given: the table has it", scaling)
    return x


@rope.plan
def _(
    gpu: Gpu,
    outputs: Sequence[Spec],
    x: Spec,
    positions: Spec,
    table: Spec | None = None,
    *,
    pairs: Pairs,
    base: float | None = None,
    scaling: Scaling | None = None,
    head_offset: int = 0,
    head_count: int | None = None,
) -> Plan:
    length, h, d = x.shape
    count = h - head_offset if head_count is None else head_count
    heads = {"H": h, "D": d, "HALF": PAIRS[pairs], "HEAD_OFFSET": head_offset, "HEAD_COUNT": count}
    if table is None:
        assert base is not None
        return Plan(_block(gpu, x, positions, heads, 0, d, 0, frequency_params("rope", d, base, scaling)))
    dispatch = Dispatch(resolve(gpu, "rope"), heads, [arg(0), arg(1), arg(2), out(0)], (1, 1, 1))
    row = (4 * h * d, 4, 0, 4 * h * d)
    return Plan(in_chunks(gpu, dispatch, length, row, lambda rows: flat_grid(rows * h * d // 2)))


@op
def rope_axes(
    x: NDArray[np.float32], positions: NDArray[Any], *, axes_dims: Sequence[int], base: float
) -> NDArray[np.float32]:
    """`rope` by several positions a row, as image models have them: block a of the channels turns by position a.

    x          (L, H, D) float32; adjacent channels are a pair
    positions  (L, A) float32 or int32, negative and fractional ones too; on the GPU below 2^32 in magnitude
    axes_dims  A even widths, together D: the blocks of channels, in order. Pair j of a block of width W turns by
               base ** (-2 j / W) a position: by the block's own width
    base       above 1
    returns    (L, H, D) float32; computed in float64 (float32 on the GPU, the angles in 2^-64 of a turn)

    Raises ShapeError.
    """
    turns = [frequencies(w, RopeFrequencies(base)) for w in axes_dims]
    places = positions.astype(np.float64)
    angles = np.concatenate([places[:, i : i + 1] * t for i, t in enumerate(turns)], axis=1)  # (L, D / 2)
    return _turn(x, np.cos(angles), np.sin(angles), "adjacent")


@rope_axes.spec
def _(x: Spec, positions: Spec, *, axes_dims: Sequence[int], base: float) -> Spec:
    length, _, d = _check_x("rope_axes", x)
    for width in axes_dims:
        check(width >= 2 and width % 2 == 0, "rope_axes", "axes_dims", "even widths of at least 2", width)
    check(sum(axes_dims) == d, "rope_axes", "axes_dims", f"widths that add up to {d}", list(axes_dims))
    shape = (length, len(axes_dims))
    rule = f"float32 or int32 of shape {shape}"
    check(positions.dtype in ("float32", "int32"), "rope_axes", "positions", rule, positions)
    check(positions.shape == shape, "rope_axes", "positions", rule, positions)
    check(base > 1, "rope_axes", "base", "above 1", base)
    return x


@rope_axes.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, positions: Spec, *, axes_dims: Sequence[int], base: float) -> Plan:
    h, d = x.shape[1:]
    heads = {"H": h, "D": d, "HALF": PAIRS["adjacent"], "HEAD_OFFSET": 0, "HEAD_COUNT": h}
    dispatches: list[Dispatch] = []
    start = 0
    for axis, width in enumerate(axes_dims):
        dispatches += _block(gpu, x, positions, heads, start, width, axis, RopeFrequencies(base))
        start += width
    return Plan(dispatches)


def _block(
    gpu: Gpu,
    x: Spec,
    positions: Spec,
    heads: dict[str, int],
    start: int,
    width: int,
    axis: int,
    params: RopeFrequencies,
) -> list[Dispatch]:
    """Turns the channels start to start + width of every row by one column of the positions."""
    length, h, d = x.shape
    axes = math.prod(positions.shape[1:])
    # The least and the greatest i for which the ramp is 0 and 1; where it is cut off at an end, all or nothing.
    first, ramp = int(params.ramp_low), max(int(params.ramp_high - params.ramp_low), 1)
    if params.ramp_high < params.ramp_low:
        first, ramp = (width, 1) if params.ramp_low <= 0 else (-1, 1)
    ratio = _fraction(params.base ** (-2 / width))
    step = _fraction((1 - 1 / params.interpolation) / ramp)
    constants: dict[str, int | float] = {
        **heads, "START": start, "WIDTH": width, "AXES": axes, "AXIS": axis, "HEADS": _HEADS,
        "WHOLE": int(positions.dtype == "int32"), "RATIO_LOW": ratio % 2**32, "RATIO_HIGH": ratio >> 32,
        "RAMP_START": first, "RAMP_LENGTH": ramp, "STEP_LOW": step % 2**32, "STEP_HIGH": step >> 32,
        "GAIN": params.attention_factor,
    }  # fmt: skip
    dispatch = Dispatch(resolve(gpu, "rope", "axes"), constants, [arg(0), arg(1), out(0)], (1, 1, 1))
    threads = -(-h // _HEADS) * width // 2
    row = (4 * h * d, 4 * axes, 4 * h * d)
    return in_chunks(gpu, dispatch, length, row, lambda rows: fold(-(-rows * threads // 256)))


def _fraction(value: float) -> int:
    """A value below 1 in 2^-64."""
    return min(int(value * 2.0**64), 2**64 - 1)


def _turn(x: NDArray[np.float32], cos: F64, sin: F64, pairs: Pairs) -> NDArray[np.float32]:
    half = x.shape[2] // 2
    first, second = (
        (np.s_[..., 0::2], np.s_[..., 1::2]) if pairs == "adjacent" else (np.s_[..., :half], np.s_[..., half:])
    )
    wide, c, s = x.astype(np.float64), cos[:, None], sin[:, None]  # for every head
    result = np.empty_like(x)
    result[first] = wide[first] * c - wide[second] * s
    result[second] = wide[first] * s + wide[second] * c
    return result


def _check_x(op_name: str, x: Spec) -> tuple[int, int, int]:
    check(x.dtype == "float32" and len(x.shape) == 3, op_name, "x", "float32 of shape (L, H, D)", x)
    length, h, d = x.shape
    check(d >= 2 and d % 2 == 0, op_name, "x", "of an even width D", x)
    return length, h, d
