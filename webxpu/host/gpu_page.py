"""Ops on the GPU without Pyodide: CPython makes the plan, the page `web/verify/` runs it, bytes travel over HTTP.

Every array lies in a frame of sentinels, see `webxpu.gpu.frames`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from webxpu import errors
from webxpu.cases.case import Case
from webxpu.data import data_folder
from webxpu.errors import DeviceError, Unsupported
from webxpu.gpu.frames import (
    SENTINEL,
    SLACK_BYTES,
    Overrun,
    Result,
    framed,
    framed_bytes,
    framed_calls,
    split_answer,
    unframed,
    written_arguments,
)
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.program import bound_bytes, encode
from webxpu.gpu.target import Gpu, describe
from webxpu.host.serve import Server, serving
from webxpu.report import Report
from webxpu.trial import prepare

if TYPE_CHECKING:
    from playwright.sync_api import Page

_CALL = """async ([name, argument]) => {
  try { return {value: (await globalThis[name](argument)) ?? null}; }
  catch (error) { return {error: error.name, message: error.message}; }
}"""


class GpuPage:
    """A device in a page. `gpu` is what plans see of it."""

    def __init__(self, page: Page, server: Server, limits: str) -> None:
        self.page = page
        self.server = server
        self.limits = limits
        page.goto(f"{server.url}/verify/")
        page.wait_for_function("globalThis.runAll !== undefined")
        self._blob = (f"{limits}-{i}" for i in itertools.count())
        self.open()

    def open(self) -> None:
        """Opens the device, again where the browser took the one before away."""
        self.report: dict[str, Any] = self._call("open", {"adapter": None, "limits": self.limits, "features": "all"})
        self.device: int = self.report["device"]
        self.gpu: Gpu = describe(self.report)

    def run(self, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any], plans: Sequence[Plan]) -> list[Result]:
        """Runs an op by each of several plans, on the same arguments. Raises the bridge's typed errors, and Overrun."""
        results: list[Result] = []
        for result in self.attempt(op, args, kwargs, plans):
            if isinstance(result, Exception):
                raise result
            results.append(result)
        return results

    def attempt(
        self, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any], plans: Sequence[Plan]
    ) -> list[Result | Exception]:
        """The same, with the error in place of the result where a plan's run fails."""
        if not plans:
            return []
        specs = [spec_of(a) for a in args]
        outputs = op.spec_of(*specs, **kwargs)
        written = written_arguments(op, specs)
        images = [framed(a) for a in args]
        starts = itertools.accumulate(map(len, images), initial=0)
        inputs = [{"bytes": len(image) or 4, "start": start if image else None} for image, start in zip(images, starts)]
        jobs: list[dict[str, Any] | Exception] = []
        for plan in plans:
            try:
                jobs.append(_job(op.name, plan, inputs, specs, outputs, written, dict(self.gpu.limits)))
            except Unsupported as e:
                jobs.append(e)
        answer, problems = self._exchange(b"".join(images), [job for job in jobs if isinstance(job, dict)])
        size = sum(map(framed_bytes, [*outputs, *(s for i in written if (s := specs[i]))]))
        results: list[Result | Exception] = []
        for job in jobs:
            problem = job if isinstance(job, Exception) else problems.pop(0)
            if problem is not None:
                results.append(problem)
                continue
            try:
                results.append(split_answer(answer[:size], outputs, specs, written))
            except Overrun as e:
                results.append(e)
            answer = answer[size:]
        assert not answer
        return results

    def try_case(self, report: Report, case: Case, *, every: bool = True) -> None:
        """Runs a case by every plan that the device has for it, or by its own alone, and notes what came of it."""
        trial = prepare(case, self.gpu, every=every)
        results = self.attempt(trial.op, trial.args, case.kwargs, [plan for _, plan in trial.plans])
        report.add(trial, results)

    def run_code(self, code: str, array: NDArray[Any], shape: tuple[int, ...], groups: int) -> NDArray[Any]:
        """Runs a bare module that reads one array (binding 0) and writes float32 of `shape` (binding 1)."""
        specs = [spec_of(array), Spec(shape, "float32")]
        image = framed(array)
        program = {
            "label": "probe",
            "modules": [{"label": "probe", "code": code, "segments": [["probe.wgsl", 1, code.count("\n")]]}],
            "pipelines": [{"module": 0, "constants": {}, "access": ["read", "read_write"]}],
            "groups": [{"pipeline": 0, "buffers": [[i, SLACK_BYTES, bound_bytes(s)] for i, s in enumerate(specs)]}],
            "commands": [0, 0, groups, 1, 1],
            "labels": ["probe"],
        }
        buffers = [{"bytes": len(image), "start": 0}, {"bytes": framed_bytes(specs[1]), "start": None}]
        answer, [problem] = self._exchange(image, [{"program": program, "buffers": buffers, "read": [1]}])
        if problem is not None:
            raise problem
        return unframed(answer, specs[1])

    def close(self) -> None:
        self._call("close", self.device)

    def _exchange(self, question: bytes, runs: list[dict[str, Any]]) -> tuple[bytes, list[Exception | None]]:
        """The bytes that the runs left, one after the other, and for each run what went wrong, or None."""
        answer, problems = self.exchange("runAll", question, {"sentinel": SENTINEL, "runs": runs})
        return answer, [p and _error(p["name"], p["message"]) for p in problems]

    def exchange(self, function: str, question: bytes, job: dict[str, Any]) -> tuple[bytes, Any]:
        """Calls a function of the page that takes its bytes from one blob and puts others into a second."""
        blobs, name = self.server.blobs, next(self._blob)
        assert blobs is not None, "the page needs a server with blobs"
        blobs[f"{name}-in"] = question
        places = {"device": self.device, "question": f"/blobs/{name}-in", "answer": f"/blobs/{name}-out"}
        try:
            value = self._call(function, {**places, **job})
        finally:
            del blobs[f"{name}-in"]
        return blobs.pop(f"{name}-out"), value

    def _call(self, name: str, argument: Any) -> Any:
        result = self.page.evaluate(_CALL, [name, argument])
        if "error" in result:
            raise _error(result["error"], result["message"])
        return result["value"]


def serving_cases() -> AbstractContextManager[Server]:
    """Serves the pages with the bridge's modules where they expect them; bytes go over its blobs."""
    return serving(data_folder("web"), mounts={"bridge": data_folder("bridge")}, blobs=True)


def _error(name: str, message: str) -> Exception:
    """An error of the page as the class of webxpu's that it names."""
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        return kind(message)
    return DeviceError(f"{name}: {message}")


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
    fresh = [{"bytes": framed_bytes(s), "start": None} for s in [*outputs, *plan.scratch]]
    buffers = [*inputs, *fresh]
    calls = framed_calls(plan, specs, outputs, range(len(buffers)))
    read = [*range(len(specs), len(specs) + len(outputs)), *written]
    return {"program": encode(label, calls, limits), "buffers": buffers, "read": read}
