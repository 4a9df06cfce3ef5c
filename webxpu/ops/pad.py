"""An axis made longer at its ends."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, out
from webxpu.gpu.target import Gpu
from webxpu.ops.transpose import WORD_BYTES, WORDS, WORDS_RULE, by_batches

# Numbers of the modes in kernels/pad, and their names in np.pad.
MODES = {"constant": 0, "reflect": 1, "replicate": 2}
_NUMPY = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}


@op
def pad(
    x: NDArray[Any], *, axis: int, before: int, after: int, mode: str = "constant", value: float = 0
) -> NDArray[Any]:
    """`torch.nn.functional.pad` of one axis. Several axes are several calls, in any order.

    x        any shape with at least one axis, float32, int32 or uint32
    axis     which; a negative one counts from the end
    before   places before the first, 0 or more; torch crops by negative ones, this refuses them
    after    places past the last, 0 or more
    mode     "constant"; "reflect", the edge is not repeated, so before and after are less than the axis; "replicate",
             the edge is repeated
    value    of the constant, a whole number for integers
    returns  x's dtype, x's shape but for the axis, which is before + L + after

    Every bit is kept. Raises ShapeError.
    """
    widths = [(0, 0)] * x.ndim
    widths[axis] = (before, after)
    filler = {"constant_values": _filler(x.dtype, value)} if mode == "constant" else {}
    return np.asarray(np.pad(x, widths, _NUMPY[mode], **filler))  # type: ignore[call-overload]


@pad.spec
def _(x: Spec, *, axis: int, before: int, after: int, mode: str = "constant", value: float = 0) -> Spec:
    rank = len(x.shape)
    check(x.dtype in WORDS and rank, "pad", "x", f"{WORDS_RULE} with at least one axis", x)
    check(-rank <= axis < rank and isinstance(axis, int), "pad", "axis", f"an axis of {x}", axis)
    check(mode in MODES, "pad", "mode", f"one of {', '.join(MODES)}", repr(mode))
    length = x.shape[axis]
    for name, amount in (("before", before), ("after", after)):
        check(amount >= 0 and isinstance(amount, int), "pad", name, "a whole number, at least 0", amount)
        rule = f"less than the axis' {length} to be reflected"
        check(mode != "reflect" or amount < max(length, 1), "pad", name, rule, amount)
    check(mode != "replicate" or length or before + after == 0, "pad", "x", "not empty along the axis to replicate", x)
    if x.dtype != "float32":
        limits = np.iinfo(x.dtype)
        fits = isinstance(value, int) and limits.min <= value <= limits.max
        check(fits, "pad", "value", f"a whole number that fits {x.dtype}", value)
    shape = list(x.shape)
    shape[axis] += before + after
    return Spec(tuple(shape), x.dtype)


@pad.plan
def _(
    gpu: Gpu,
    outputs: Sequence[Spec],
    x: Spec,
    *,
    axis: int,
    before: int,
    after: int,
    mode: str = "constant",
    value: float = 0,
) -> Plan:
    at = axis % len(x.shape)
    inner = prod(x.shape[at + 1 :])
    constants = {
        "INNER": inner,
        "BEFORE": before,
        "AFTER": after,
        "MODE": MODES[mode],
        "VALUE": int(np.asarray(_filler(x.dtype, value)).view(np.uint32)) if mode == "constant" else 0,
    }
    dispatch = Dispatch(resolve(gpu, "pad"), constants, [arg(0), out(0)], (1, 1, 1))
    words = [inner * spec.shape[at] for spec in (x, outputs[0])]
    row_bytes = [WORD_BYTES * n for n in words]
    return Plan(by_batches(gpu, dispatch, prod(x.shape[:at]), row_bytes, lambda count: flat_grid(count * words[1])))


def _filler(dtype: Any, value: float) -> Any:
    with np.errstate(over="ignore"):
        return np.dtype(dtype).type(value)
