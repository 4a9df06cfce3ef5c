"""The index of the largest value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold, out, scratch
from webxpu.gpu.target import Gpu

# Values that a workgroup of kernel.wgsl looks at.
_GROUP_VALUES = 2048


@op
def argmax(x: NDArray[np.float32]) -> NDArray[np.int32]:
    """`torch.argmax(x)`, with the lowest index among equals (torch promises none).

    x        (V,) float32, V >= 1
    returns  (1,) int32

    With a NaN among the values the index is within 0 .. V - 1 and says nothing. Raises ShapeError.
    """
    return np.array([np.argmax(x)], np.int32)


@argmax.spec
def _(x: Spec) -> Spec:
    check(x.dtype == "float32" and len(x.shape) == 1 and x.size, "argmax", "x", "float32 of shape (V,), V >= 1", x)
    return Spec((1,), "int32")


@argmax.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec) -> Plan:
    # One workgroup over all values takes ten times as long as many and a second pass over their winners.
    groups = -(-x.size // _GROUP_VALUES)
    winners = [Spec((groups,), "float32"), Spec((groups,), "int32")]
    first = Dispatch(resolve(gpu, "argmax"), {"V": x.size}, [arg(0), scratch(0), scratch(1)], fold(groups))
    second = Dispatch(
        resolve(gpu, "argmax", "winner"),
        {"WINNERS": groups},
        [scratch(0, "read"), scratch(1, "read"), out(0)],
        (1, 1, 1),
    )
    return Plan([first, second], winners)
