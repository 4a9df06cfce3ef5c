"""Images made larger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, in_chunks, out
from webxpu.gpu.target import Gpu
from webxpu.ops.transpose import WORD_BYTES, WORDS, WORDS_RULE


@op
def nearest_upsample_2d(x: NDArray[Any], *, out_h: int, out_w: int) -> NDArray[Any]:
    """`torch.nn.functional.interpolate(x, size=(out_h, out_w), mode="nearest")`.

    x        (N, C, H, W) float32, int32 or uint32
    out_h    at least H
    out_w    at least W
    returns  (N, C, out_h, out_w), x's dtype

    Row r is row floor(r * (H / out_h)) of x, quotient and product in float32 as in torch. That is not always the
    r * H // out_h of whole numbers (14 to 46 rows: row 23 is row 6), nor torch's scale_factor=, nor "nearest-exact".
    Every bit is kept. Raises ShapeError.
    """
    rows, columns = _sources(x.shape[2], out_h), _sources(x.shape[3], out_w)
    return np.asarray(x[:, :, rows[:, None], columns])


def _scale(size: int, larger: int) -> np.float32:
    return np.float32(size) / np.float32(larger)


def _sources(size: int, larger: int) -> NDArray[np.int64]:
    places = np.arange(larger, dtype=np.float32) * _scale(size, larger)
    return np.asarray(np.minimum(np.floor(places), size - 1), np.int64)


@nearest_upsample_2d.spec
def _(x: Spec, *, out_h: int, out_w: int) -> Spec:
    rule = f"{WORDS_RULE} of shape (N, C, H, W), H and W at least 1"
    fits = x.dtype in WORDS and len(x.shape) == 4 and min(x.shape[2:]) >= 1
    check(fits, "nearest_upsample_2d", "x", rule, x)
    n, c, h, w = x.shape
    for name, size, larger in (("out_h", h, out_h), ("out_w", w, out_w)):
        whole = larger >= size and isinstance(larger, int)
        check(whole, "nearest_upsample_2d", name, f"a whole number, at least {size}", larger)
    return Spec((n, c, out_h, out_w), x.dtype)


@nearest_upsample_2d.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, *, out_h: int, out_w: int) -> Plan:
    n, c, h, w = x.shape
    scales = {"SCALE_H": float(_scale(h, out_h)), "SCALE_W": float(_scale(w, out_w))}
    constants = {"H": h, "W": w, "OUT_H": out_h, "OUT_W": out_w, **scales}
    dispatch = Dispatch(resolve(gpu, "upsample"), constants, [arg(0), out(0)], (1, 1, 1))
    row_bytes = (WORD_BYTES * h * w, WORD_BYTES * out_h * out_w)
    return Plan(in_chunks(gpu, dispatch, n * c, row_bytes, lambda planes: flat_grid(planes * out_h * out_w)))
