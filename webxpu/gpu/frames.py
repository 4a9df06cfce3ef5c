"""Arrays in frames: each lies in the middle of a larger buffer whose ends hold a sentinel, and outputs start as
sentinels. An element that a kernel forgets shows, and so does a byte that it writes beside its array."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.op import Op
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.program import NO_RANGE, Call, bind, bound_bytes
from webxpu.gpu.tensor import stored_bytes

# As float32 3.4e38, as int32 2.1e9, as float16 NaN: no case computes them.
SENTINEL = 0x7F7F7F7F
# Bytes of sentinel before and after every array: storage bindings start at multiples of 256.
SLACK_BYTES = 256


class Overrun(AssertionError):
    """A kernel wrote a byte beside its array."""


@dataclass(frozen=True)
class Result:
    """What one run left: the outputs, and the arguments that the op writes, by position."""

    outputs: list[NDArray[Any]]
    written: dict[int, NDArray[Any]]


def framed_bytes(spec: Spec) -> int:
    return bound_bytes(spec) + 2 * SLACK_BYTES


def sentinels(count: int) -> bytes:
    return (SENTINEL & 0xFF).to_bytes(1, "little") * count


def framed(value: Any) -> bytes:
    """An array's bytes as they lie in their buffer: sentinel, data, sentinel up to the least that is bound, sentinel.
    Nothing for None."""
    if value is None:
        return b""
    spec, data = stored_bytes(value)
    end = SLACK_BYTES + bound_bytes(spec) - len(data)
    return sentinels(SLACK_BYTES) + data.tobytes() + sentinels(end)


def unframed(image: bytes | memoryview, spec: Spec) -> NDArray[Any]:
    """The array in a buffer that came back. Raises Overrun where a byte beside it changed."""
    slack = sentinels(SLACK_BYTES)
    if image[:SLACK_BYTES] != slack:
        raise Overrun("something was written before the array")
    if image[-SLACK_BYTES:] != slack:
        raise Overrun("something was written past the array")
    body = image[SLACK_BYTES : SLACK_BYTES + spec.size * np.dtype(spec.dtype).itemsize]
    return np.frombuffer(body, spec.dtype).reshape(spec.shape)


def written_arguments(op: Op, specs: Sequence[Spec | None]) -> list[int]:
    """The positions of the arguments that the op writes into, of those that are given."""
    names = inspect.signature(op.body).parameters
    return [i for i, (name, spec) in enumerate(zip(names, specs)) if name in op.writes and spec]


def framed_calls(
    plan: Plan, specs: Sequence[Spec | None], outputs: Sequence[Spec], handles: Sequence[int]
) -> list[Call]:
    """A plan's dispatches on framed buffers. `handles` are those of the arguments, the outputs and the scratch, in
    this order."""
    ranges = [
        (handle, SLACK_BYTES, bound_bytes(spec)) if spec else NO_RANGE
        for handle, spec in zip(handles, [*specs, *outputs, *plan.scratch], strict=True)
    ]
    first, scratch = len(specs), len(specs) + len(outputs)
    return bind(plan, ranges[:first], ranges[first:scratch], ranges[scratch:])


def split_answer(
    answer: bytes | memoryview, outputs: Sequence[Spec], specs: Sequence[Spec | None], written: Sequence[int]
) -> Result:
    """The result in the framed bytes of the outputs and of the written arguments, one after the other."""
    arrays, start = [], 0
    for spec in [*outputs, *(specs[i] for i in written)]:
        assert spec is not None, "an argument that is left out is not written"
        arrays.append(unframed(answer[start : start + framed_bytes(spec)], spec))
        start += framed_bytes(spec)
    return Result(arrays[: len(outputs)], dict(zip(written, arrays[len(outputs) :], strict=True)))
