"""ALiBi (arXiv 2108.12409): a bias on scores that grows with the distance, at a slope of each head's own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Binding, Dispatch, Plan, Spec, arg, flat_grid, fold, out, scratch
from webxpu.gpu.target import Gpu
from webxpu.ops._attention import by_heads

_THREADS = 64


@op(generates=True)
def alibi_slopes(heads: int) -> NDArray[np.float32]:
    """The paper's `get_slopes(heads)`.

    heads    H, at least 1
    returns  (H,) float32. For a power of two 2 ** (-8 (h + 1) / H); else the slopes of the largest power of two below,
             then every other slope of the power of two above, which are larger again

    Raises ShapeError.
    """
    below = 1 << (heads.bit_length() - 1)
    first = -8.0 * (np.arange(below) + 1) / below
    rest = -4.0 * (2 * np.arange(heads - below) + 1) / below
    return np.asarray(np.exp2(np.concatenate([first, rest])), np.float32)


@alibi_slopes.spec
def _(heads: int) -> Spec:
    whole = type(heads) is int and heads >= 1
    check(whole, "alibi_slopes", "heads", "a whole number, at least 1", repr(heads))
    return Spec((heads,), "float32")


@alibi_slopes.plan
def _(gpu: Gpu, outputs: Sequence[Spec], heads: int) -> Plan:
    return Plan([_slopes(gpu, heads, out(0))])


@op
def alibi(
    scores: NDArray[np.float32],
    slopes: NDArray[np.float32] | None = None,
    pos_offset: NDArray[np.int32] | None = None,
) -> NDArray[np.float32]:
    """`scores + slope * (j - (i + pos_offset))` for query i and key j: the paper's form, not BLOOM's slope * j.

    scores      (H, M, N) float32
    slopes      (H,) float32, `alibi_slopes(H)` if left out
    pos_offset  one int32: the position of the first query, 0 if left out. An array, since it grows from step to step
    returns     (H, M, N) float32; computed in float64 (float32 on the GPU)

    Nothing is masked: a key after its query gets the positive continuation. `alibi(zeros)[None]` is a mask of
    `attention`. Raises ShapeError.
    """
    h, m, n = scores.shape
    slope = (alibi_slopes(h) if slopes is None else slopes).astype(np.float64)
    offset = 0 if pos_offset is None else int(pos_offset.reshape(()))
    distance = np.arange(n) - (np.arange(m)[:, None] + offset)
    return np.asarray(scores + slope[:, None, None] * distance, np.float32)


@alibi.spec
def _(scores: Spec, slopes: Spec | None = None, pos_offset: Spec | None = None) -> Spec:
    fits = scores.dtype == "float32" and len(scores.shape) == 3 and scores.shape[0] >= 1
    check(fits, "alibi", "scores", "float32 of shape (H, M, N), H >= 1", scores)
    if slopes is not None:
        h = scores.shape[0]
        check(slopes == Spec((h,), "float32"), "alibi", "slopes", f"float32 of shape ({h},)", slopes)
    if pos_offset is not None:
        fits = pos_offset.dtype == "int32" and pos_offset.size == 1
        check(fits, "alibi", "pos_offset", "one int32", pos_offset)
    return scores


@alibi.plan
def _(
    gpu: Gpu, outputs: Sequence[Spec], scores: Spec, slopes: Spec | None = None, pos_offset: Spec | None = None
) -> Plan:
    h, m, n = scores.shape
    given = slopes is not None
    # The kernel takes N from the scores' length, so a row that grows compiles nothing new.
    constants = {"M": m, "OFFSET": int(pos_offset is not None), "FIRST": 0}
    head_bytes = 4 * m * n
    offset, offset_bytes = (arg(0), head_bytes) if pos_offset is None else (arg(2), 0)
    bindings = [arg(0), arg(1) if given else scratch(0, "read"), offset, out(0)]
    dispatch = Dispatch(resolve(gpu, "alibi"), constants, bindings, (0, 0, 0))
    each = [head_bytes, 0, offset_bytes, head_bytes]
    steps = by_heads(gpu, h, dispatch, each, lambda heads: flat_grid(heads * m * n), numbered=True)
    return Plan(steps) if given else Plan([_slopes(gpu, h, scratch(0)), *steps], [Spec((h,), "float32")])


def _slopes(gpu: Gpu, heads: int, where: Binding) -> Dispatch:
    return Dispatch(resolve(gpu, "alibi", "slopes"), {}, [where], fold(-(-heads // _THREADS)))
