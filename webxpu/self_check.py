"""Does this device compute what NumPy says? The cases that ship with the package, run on it by every kernel it has.

A batch is one bridge call to compile, one to run and one read, whatever it holds; batches overlap, so that the browser
compiles some while others run and Python computes what is wanted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

import numpy as np

from webxpu.cases.case import Case, gather_cases
from webxpu.errors import DeviceLost, ShapeError
from webxpu.gpu.description import adapter_name
from webxpu.gpu.device import Device, open_device
from webxpu.gpu.frames import Result, framed, framed_bytes, framed_calls, sentinels, split_answer, written_arguments
from webxpu.gpu.program import Call, encode
from webxpu.report import Report
from webxpu.trial import Trial, prepare

# What the arrays of one batch may take on the GPU, and those of all batches that are under way.
BATCH_BYTES = 32 << 20
FLIGHT_BYTES = 256 << 20


async def check(
    device: Device | None = None,
    *,
    quick: bool = True,
    only: Sequence[str] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Report:
    """Runs the ops' cases on a device, by every kernel and in every way that it can, and compares with NumPy.

    device    None opens one for the time it takes
    quick     False runs every case and not only the short ones
    only      the names of ops ("conv2d") or of their modules ("conv"), in place of all of them
    progress  called with (cases done, cases in all)
    returns   a Report: true where all agrees; print it for a table

    Bytes beside arrays are checked too. Raises DeviceLost, and ShapeError for a name in `only` that is no op's.
    """
    try:
        chosen = [case for case in gather_cases(only) if case.quick or not quick]
    except LookupError as e:
        raise ShapeError(f"check: only must be names of ops, got {e}") from e
    opened = device or await open_device()
    try:
        return await _Check(opened, chosen, progress).run()
    finally:
        if device is None:
            opened.close()


class _Check:
    def __init__(self, device: Device, cases: Sequence[Case], progress: Callable[[int, int], object] | None) -> None:
        self.report = Report(adapter_name(device.gpu.info))
        self.device, self.cases, self.progress = device, cases, progress
        self.done = 0
        self.flights: list[tuple[_Batch, asyncio.Task[list[Result]]]] = []
        self.alone: list[Case] = []

    async def run(self) -> Report:
        start = time.monotonic()
        try:
            for trials in self._batches():
                await self._launch(trials)
            await self._land(0)
            for case in self.alone:
                await self._run_alone(case)
        finally:
            for _, task in self.flights:
                task.cancel()
            await asyncio.gather(*(task for _, task in self.flights), return_exceptions=True)
        self.report.seconds = time.monotonic() - start
        return self.report

    def _batches(self) -> Iterator[list[Trial]]:
        """Trials of one op, as many as fit a batch. What needs no GPU is noted at once."""
        for _, cases in groupby(self.cases, lambda case: case.op):
            batch: list[Trial] = []
            for case in cases:
                try:
                    trial = prepare(case, self.device.gpu)
                except Exception as e:  # noqa: BLE001 - whatever it is, it is this case's failure and the next is run
                    self.report.add_error(case, e)
                    self._count()
                    continue
                if not trial.plans:
                    self._note(trial, [])
                    continue
                if batch and sum(map(_trial_bytes, [*batch, trial])) > BATCH_BYTES:
                    yield batch
                    batch = []
                batch.append(trial)
            if batch:
                yield batch

    async def _launch(self, trials: list[Trial]) -> None:
        """Sends a batch off, computes what is wanted of it meanwhile, and takes in those that came back."""
        try:
            batch = _Batch(self.device, [(trial, range(len(trial.plans))) for trial in trials])
        except Exception:  # noqa: BLE001 - each of them alone will say whose it is
            self.alone += [trial.case for trial in trials]
            return
        self.flights.append((batch, asyncio.ensure_future(batch.run())))
        await asyncio.sleep(0)  # lets the browser begin to compile
        for trial in trials:
            with suppress(Exception):  # it is raised again, and noted, when the results are judged
                trial.wanted()
        await self._land(FLIGHT_BYTES)

    async def _land(self, allowed_bytes: int) -> None:
        """Takes in batches that came back, and waits for the oldest while more bytes than allowed are under way."""
        while self.flights and (
            self.flights[0][1].done() or sum(batch.nbytes for batch, _ in self.flights) > allowed_bytes
        ):
            batch, task = self.flights[0]
            try:
                results = iter(await task)
            except DeviceLost:
                raise
            except Exception:  # noqa: BLE001 - the error may be another batch's: each case runs again, alone
                self.alone += [trial.case for trial, _ in batch.jobs]
            else:
                for trial, plans in batch.jobs:
                    self._note(trial, [next(results) for _ in plans])
            del self.flights[0]

    async def _run_alone(self, case: Case) -> None:
        """Runs a case plan by plan, each with its own error."""
        trial = prepare(case, self.device.gpu)  # anew: the definition has written into the arguments of the first
        results: list[Result | Exception] = []
        for i in range(len(trial.plans)):
            try:
                results += await _Batch(self.device, [(trial, [i])]).run()
            except DeviceLost:
                raise
            except Exception as e:  # noqa: BLE001 - whatever it is, it is this plan's failure
                results.append(e)
        self._note(trial, results)

    def _note(self, trial: Trial, results: Sequence[Result | Exception]) -> None:
        self.report.add(trial, results)
        self._count()

    def _count(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, len(self.cases))


class _Batch:
    """Trials with some of their plans, made ready as one program on framed buffers. Raises where a plan passes the
    device's limits."""

    def __init__(self, device: Device, jobs: Sequence[tuple[Trial, Sequence[int]]]) -> None:
        self.device, self.jobs = device, jobs
        self.handles: list[int] = []
        self.nbytes = 0
        self.image = bytearray()
        self.inputs: list[tuple[int, int, int]] = []  # start in the image, buffer, bytes
        self.fresh: list[tuple[int, int]] = []  # buffer, bytes
        self.answers: list[tuple[int, int]] = []
        try:
            calls = [call for trial, plans in jobs for call in self._calls(trial, plans)]
            self.program = encode("check", calls, dict(device.gpu.limits))
            self.sentinels = len(self.image)
            self.image += sentinels(max((nbytes for _, nbytes in self.fresh), default=0))
            self.upload = self._buffer(len(self.image))
            self.answer = self._buffer(sum(nbytes for _, nbytes in self.answers))
        except BaseException:
            self._free()
            raise

    async def run(self) -> list[Result]:
        """The results of all plans, in order. Frees everything. Raises the first error, which may be another's."""
        bridge = self.device.bridge
        try:
            program = await bridge.compile(self.device.handle, self.program)
            try:
                self.device.submit(self._steps(program))
                answer = np.empty(sum(nbytes for _, nbytes in self.answers), np.uint8)
                await bridge.read_into(self.answer, 0, answer)
            finally:
                if not self.device.closed:
                    bridge.free_program(program)
        finally:
            self._free()
        view, results = answer.data, []
        for trial, plans in self.jobs:
            written = written_arguments(trial.op, trial.specs)
            nbytes = sum(framed_bytes(spec) for spec in [*trial.outputs, *(trial.specs[i] for i in written)] if spec)
            for _ in plans:
                results.append(split_answer(view[:nbytes], trial.outputs, trial.specs, written))
                view = view[nbytes:]
        return results

    def _calls(self, trial: Trial, plans: Sequence[int]) -> Iterator[Call]:
        """The dispatches of a trial. Arguments are shared by its plans, unless the op writes them."""
        written = written_arguments(trial.op, trial.specs)
        places = [self._place(a) for a in trial.args]
        shared = [-1 if i in written else self._input(*place) for i, place in enumerate(places)]
        for index in plans:
            plan = trial.plans[index][1]
            given = [self._input(*places[i]) if i in written else handle for i, handle in enumerate(shared)]
            made = [self._new(framed_bytes(spec)) for spec in [*trial.outputs, *plan.scratch]]
            self.answers += zip(made, map(framed_bytes, trial.outputs))
            self.answers += [(given[i], framed_bytes(spec)) for i in written if (spec := trial.specs[i])]
            yield from framed_calls(plan, trial.specs, trial.outputs, [*given, *made])

    def _steps(self, program: int) -> list[list[Any]]:
        steps: list[list[Any]] = [["write", self.upload, 0, np.frombuffer(self.image, np.uint8)]]
        steps += [["copy", self.upload, start, handle, 0, nbytes] for start, handle, nbytes in self.inputs]
        steps += [["copy", self.upload, self.sentinels, handle, 0, nbytes] for handle, nbytes in self.fresh]
        steps.append(["run", program])
        start = 0
        for handle, nbytes in self.answers:
            steps.append(["copy", handle, 0, self.answer, start, nbytes])
            start += nbytes
        return steps

    def _place(self, value: Any) -> tuple[int, int]:
        """Puts an array's frame into the image: where it begins, and its bytes; none for None."""
        start = len(self.image)
        self.image += framed(value)
        return start, len(self.image) - start

    def _input(self, start: int, nbytes: int) -> int:
        if not nbytes:
            return -1
        handle = self._buffer(nbytes)
        self.inputs.append((start, handle, nbytes))
        return handle

    def _new(self, nbytes: int) -> int:
        handle = self._buffer(nbytes)
        self.fresh.append((handle, nbytes))
        return handle

    def _buffer(self, nbytes: int) -> int:
        handle = self.device.bridge.create_buffer(self.device.handle, nbytes, "check")
        self.handles.append(handle)
        self.nbytes += nbytes
        return handle

    def _free(self) -> None:
        while self.handles and not self.device.closed:
            self.device.bridge.free_buffer(self.handles.pop())


def _trial_bytes(trial: Trial) -> int:
    """What a trial takes on the GPU, less the arguments that each plan has of its own."""
    given = sum(framed_bytes(spec) for spec in trial.specs if spec)
    return given + sum(framed_bytes(spec) for _, plan in trial.plans for spec in [*trial.outputs, *plan.scratch])
