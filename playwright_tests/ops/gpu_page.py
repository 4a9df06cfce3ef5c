"""Ops on the GPU without Pyodide: CPython makes the plan, a page runs it, bytes travel over HTTP.

Every array is bound as the middle of a larger buffer whose ends hold a sentinel, and outputs start as sentinels: an
element that a kernel forgets shows, and so does a byte that it writes beside its array.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page

from webxpu import errors
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.program import NO_RANGE, bind, bound_bytes, encode
from webxpu.gpu.target import Gpu, describe
from webxpu.gpu.tensor import stored_bytes
from webxpu.host.serve import Server

# As float32 3.4e38, as int32 2.1e9: no case computes them.
SENTINEL = 0x7F7F7F7F
# Bytes of sentinel before and after every array: storage bindings start at multiples of 256.
SLACK_BYTES = 256
_CALL = """async ([name, argument]) => {
  try { return {value: (await globalThis[name](argument)) ?? null}; }
  catch (error) { return {error: error.name, message: error.message}; }
}"""


@dataclass(frozen=True)
class Result:
    """What one run left: the outputs, and the arguments that the op writes, by position."""

    outputs: list[NDArray[Any]]
    written: dict[int, NDArray[Any]]


class GpuPage:
    """A device in a page. `gpu` is what plans see of it."""

    def __init__(self, page: Page, server: Server, limits: str) -> None:
        self.page = page
        self.server = server
        self.limits = limits
        page.wait_for_function("globalThis.runAll !== undefined")
        report = self._call("open", {"adapter": None, "limits": limits, "features": "all"})
        self.device: int = report["device"]
        self.gpu: Gpu = describe(report)
        self._blob = (f"{limits}-{i}" for i in itertools.count())

    def run(self, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any], plans: Sequence[Plan]) -> list[Result]:
        """Runs an op by each of several plans, on the same arguments. Raises the bridge's typed errors."""
        specs = [spec_of(a) for a in args]
        outputs = op.spec_of(*specs, **kwargs)
        written = [i for i, name in enumerate(inspect.signature(op.body).parameters) if name in op.writes]
        images = [b"" if a is None else _framed(*stored_bytes(a)) for a in args]
        starts = [sum(map(len, images[:i])) for i in range(len(images))]
        inputs = [
            {"bytes": len(b) or 4, "start": start if b else None} for b, start in zip(images, starts, strict=True)
        ]
        runs = [_job(op.name, plan, inputs, specs, outputs, written, dict(self.gpu.limits)) for plan in plans]
        answer = self._exchange(b"".join(images), runs)
        wanted = [*outputs, *(specs[i] for i in written)]
        results = []
        for _ in plans:
            arrays = []
            for spec in wanted:
                size = bound_bytes(spec) + 2 * SLACK_BYTES
                arrays.append(_unframed(answer[:size], spec))
                answer = answer[size:]
            results.append(Result(arrays[: len(outputs)], dict(zip(written, arrays[len(outputs) :], strict=True))))
        assert not answer
        return results

    def run_code(self, code: str, array: NDArray[Any], shape: tuple[int, ...], groups: int) -> NDArray[Any]:
        """Runs a bare module that reads one array (binding 0) and writes float32 of `shape` (binding 1)."""
        specs = [spec_of(array), Spec(shape, "float32")]
        image = _framed(*stored_bytes(array))
        program = {
            "label": "probe",
            "modules": [{"label": "probe", "code": code, "segments": [["probe.wgsl", 1, code.count("\n")]]}],
            "pipelines": [{"module": 0, "constants": {}, "access": ["read", "read_write"]}],
            "groups": [{"pipeline": 0, "buffers": [[i, SLACK_BYTES, bound_bytes(s)] for i, s in enumerate(specs)]}],
            "commands": [0, 0, groups, 1, 1],
            "labels": ["probe"],
        }
        fresh = {"bytes": bound_bytes(specs[1]) + 2 * SLACK_BYTES, "start": None}
        buffers = [{"bytes": len(image), "start": 0}, fresh]
        return _unframed(self._exchange(image, [{"program": program, "buffers": buffers, "read": [1]}]), specs[1])

    def close(self) -> None:
        self._call("close", self.device)

    def _exchange(self, question: bytes, runs: list[dict[str, Any]]) -> bytes:
        blobs, name = self.server.blobs, next(self._blob)
        assert blobs is not None
        blobs[f"{name}-in"] = question
        job = {"device": self.device, "question": f"/blobs/{name}-in", "answer": f"/blobs/{name}-out"}
        self._call("runAll", {**job, "sentinel": SENTINEL, "runs": runs})
        del blobs[f"{name}-in"]
        return blobs.pop(f"{name}-out")

    def _call(self, name: str, argument: Any) -> Any:
        result = self.page.evaluate(_CALL, [name, argument])
        if "error" in result:
            raise getattr(errors, result["error"], RuntimeError)(result["message"])
        return result["value"]


def open_page(page: Page, server: Server, limits: str) -> GpuPage:
    return GpuPage(page, server, limits)


def _job(
    label: str,
    plan: Plan,
    inputs: list[dict[str, Any]],
    specs: Sequence[Spec | None],
    outputs: Sequence[Spec],
    written: Sequence[int],
    limits: dict[str, int],
) -> dict[str, Any]:
    """A program and its buffers. Handles are indices: inputs, then outputs, then scratch."""
    made = [*outputs, *plan.scratch]
    fresh = [{"bytes": bound_bytes(s) + 2 * SLACK_BYTES, "start": None} for s in made]
    ranges = [(i, SLACK_BYTES, bound_bytes(s)) if s else NO_RANGE for i, s in enumerate([*specs, *made])]
    first, scratch = len(specs), len(specs) + len(outputs)
    calls = bind(plan, ranges[:first], ranges[first:scratch], ranges[scratch:])
    read = [*range(first, scratch), *written]
    return {"program": encode(label, calls, limits), "buffers": [*inputs, *fresh], "read": read}


def _framed(spec: Spec, data: NDArray[np.uint8]) -> bytes:
    """The bytes as they lie in their buffer: sentinel, data, sentinel up to the least that is bound, sentinel."""
    end = SLACK_BYTES + bound_bytes(spec) - len(data)
    return _sentinels(SLACK_BYTES) + data.tobytes() + _sentinels(end)


def _unframed(image: bytes, spec: Spec) -> NDArray[Any]:
    """The array in a buffer that came back. Raises AssertionError where a byte beside it changed."""
    slack = _sentinels(SLACK_BYTES)
    assert image[:SLACK_BYTES] == slack, "something was written before the array"
    assert image[-SLACK_BYTES:] == slack, "something was written past the array"
    body = image[SLACK_BYTES : SLACK_BYTES + spec.size * np.dtype(spec.dtype).itemsize]
    return np.frombuffer(body, spec.dtype).reshape(spec.shape)


def _sentinels(count: int) -> bytes:
    return (SENTINEL & 0xFF).to_bytes(1, "little") * count
