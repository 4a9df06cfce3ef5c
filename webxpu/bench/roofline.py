"""What this device can do at most: bytes it reads a second, and multiply-adds. Speeds are stated as a part of them.

WebGPU tells neither clock nor width of a device, and figures from another machine are other denominators; so both are
measured, on the same device and in the same session as what is held against them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webxpu.cases._fill import Fill
from webxpu.gpu.kernels import Kernel, Variant
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, out

# Several times the largest cache, and hashed: on their way zeros and equal values are compressed, which shows nothing.
READ_BYTES = 512 * 2**20
READ_GROUPS = 16_384
MULTIPLY_GROUPS = 4_096
MULTIPLY_ROUNDS = 4_000
THREADS = 256
# Multiply-adds of a thread in a round: two vec4 chains.
CHAINS = 8


@dataclass(frozen=True)
class Roofline:
    """read_bytes_s: bytes read a second from memory; flops_s: float32 operations a second, two a multiply-add."""

    read_bytes_s: float
    flops_s: float

    def least_seconds(self, nbytes: float, flops: float) -> float:
        """The least time that so much work takes here: bound by memory or by arithmetic, whichever is longer."""
        return max(nbytes / self.read_bytes_s, flops / self.flops_s)

    def binds(self, nbytes: float, flops: float) -> str:
        """Which of the two ceilings bounds the work: "memory" or "arithmetic"."""
        return "memory" if nbytes / self.read_bytes_s >= flops / self.flops_s else "arithmetic"


@dataclass(frozen=True)
class Probe:
    """A program that runs into one ceiling: its arguments, its output, its plan, and how much it does."""

    name: str
    args: Sequence[Fill]
    output: Spec
    plan: Plan
    work: float


def read_probe(limit_bytes: int) -> Probe:
    """Reads one buffer once: READ_BYTES, or as much as the device binds."""
    size = min(READ_BYTES, limit_bytes) // 16 * 4
    kernel = Kernel("_roofline", Variant("read", "read"))
    plan = Plan([Dispatch(kernel, {}, [arg(0), out(0)], (READ_GROUPS, 1, 1))])
    return Probe("read", [Fill((size,))], Spec((THREADS,), "float32"), plan, 4.0 * size)


def multiply_probe() -> Probe:
    """Multiplies and adds in registers."""
    kernel = Kernel("_roofline", Variant("multiply_add", "multiply_add"))
    plan = Plan([Dispatch(kernel, {"ROUNDS": MULTIPLY_ROUNDS}, [arg(0), out(0)], (MULTIPLY_GROUPS, 1, 1))])
    flops = 2.0 * CHAINS * MULTIPLY_ROUNDS * THREADS * MULTIPLY_GROUPS
    return Probe("multiply_add", [Fill((1,), 1, 0.5)], Spec((THREADS,), "float32"), plan, flops)
