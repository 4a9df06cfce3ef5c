"""The calls whose speed is stated, at sizes that keep a big GPU busy and fit a small one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webxpu import ops
from webxpu.cases._fill import Fill
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.plan import Spec


@dataclass(frozen=True)
class Speed:
    """One call. `flops` are the floating-point operations of its definition; 0 where memory alone binds it."""

    op: Op
    size: str
    args: tuple[Any, ...]
    flops: float = 0.0
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """The bytes of all arguments and outputs: what must cross memory at least."""
        specs = [spec_of(a) for a in self.args]
        outputs = self.op.spec_of(*specs, **self.kwargs)
        return sum(s.nbytes for s in [*specs, *outputs] if isinstance(s, Spec))


def speed(op: Op, size: str, *args: Any, flops: float = 0.0, **kwargs: Any) -> Speed:
    return Speed(op, size, args, flops, kwargs)


_LINE = Fill((2**25,), 1, 4.0)
_ROWS = Fill((8192, 4096), 2, 4.0)
_ROW = Fill((4096,), 3)

SPEEDS = [
    speed(ops.activation, "33.6 M, gelu", _LINE, kind="gelu"),
    speed(ops.elementwise, "33.6 M", _LINE, Fill((2**25,), 4), kind="add"),
    speed(ops.softmax, "8192x4096", _ROWS),
    speed(ops.rmsnorm, "8192x4096", _ROWS, _ROW, eps=1e-6),
    speed(ops.matvec, "8192x16384", Fill((8192, 16384), 5), Fill((16384,), 6), flops=2.0 * 8192 * 16384),
    speed(ops.matmul, "4096 cubed", Fill((4096, 4096), 7), Fill((4096, 4096), 8), flops=2.0 * 4096**3),
    speed(ops.linear, "512x4096 by 4096x4096", Fill((512, 4096), 9), Fill((4096, 4096), 8), flops=2.0 * 512 * 4096**2),
]
