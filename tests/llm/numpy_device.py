"""A device on which the engine runs the NumPy reference: programs are functions, buffers are arrays, and each call that
would cross into the bridge is noted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from webxpu.llm import head, models
from webxpu.llm.cache import Cache
from webxpu.llm.config import Config
from webxpu.llm.generate import Engine, Programs
from webxpu.llm.model import CHUNK_ROWS


class Array(np.ndarray):
    """An array with what the engine asks of a tensor. Ops take it for the array that it is."""

    handle: int
    offset = 0


class NumpyDevice:
    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.programs: list[NumpyProgram] = []
        self.calls: list[str] = []
        self.ran: list[str] = []

    def put(self, values: np.ndarray) -> Array:
        array = np.array(values).view(Array)
        array.handle = len(self.arrays)
        self.arrays.append(array)
        return array

    def empty(self, shape: tuple[int, ...], dtype: str) -> Array:
        return self.put(np.zeros(shape, dtype))

    def program(self, label: str, run: Callable[[], None]) -> NumpyProgram:
        made = NumpyProgram(self, label, run, len(self.programs))
        self.programs.append(made)
        return made

    def submit(self, steps: Sequence[Sequence[Any]]) -> None:
        self.calls.append("submit")
        for kind, handle, *rest in steps:
            if kind == "write":
                offset, data = rest
                target = np.asarray(self.arrays[handle]).reshape(-1).view(np.uint8)
                target[offset : offset + len(data)] = data
            else:
                self.programs[handle].run()


class NumpyProgram:
    dispatches = 12

    def __init__(self, device: NumpyDevice, label: str, run: Callable[[], None], handle: int) -> None:
        self.device, self.label, self._run, self.handle = device, label, run, handle

    def run(self) -> None:
        self.device.ran.append(self.label)
        self._run()

    def loop(self, max_tokens: int, **options: Any) -> NumpyLoop:
        self.device.calls.append("loop")
        return NumpyLoop(self, max_tokens, **options)


class NumpyLoop:
    """The bridge's loop as its documentation has it: batches of 1, 2, 4, 8 runs, one batch ahead of the reader."""

    def __init__(
        self, program: NumpyProgram, max_tokens: int, *, ring: Array, first: int, ready: int, stops: Sequence[int],
        timestamps: bool,
    ) -> None:  # fmt: skip
        self.program, self.max_tokens, self.ring, self.first, self.stops = program, max_tokens, ring, first, stops
        self.made, self.kept, self.size = min(ready, max_tokens), 0, 1
        self.reason: str | None = None
        self.timestamps = timestamps
        self.fail: Exception | None = None
        self.closed = False

    async def next(self) -> list[int]:
        self.program.device.calls.append("next")
        if self.fail is not None:
            raise self.fail
        if self.reason is not None:
            return []
        if self.made == self.kept:
            self._run()
        batch = self.ring[self.first + self.kept : self.first + self.made].tolist()
        self._run()
        ids: list[int] = []
        for i in batch:
            if i in self.stops:
                self.reason = "stop"
                break
            ids.append(i)
        self.kept += len(ids)
        if self.reason is None and self.kept == self.max_tokens:
            self.reason = "length"
        return ids

    def _run(self) -> None:
        for _ in range(min(self.size, self.max_tokens - self.made)):
            self.program.run()
            self.made += 1
        self.size = min(8, self.size * 2)

    def abort(self) -> None:
        self.reason = "abort"

    async def close(self) -> dict[str, Any]:
        self.program.device.calls.append("close")
        self.closed = True
        return {"submitted": self.made, "kept": self.kept, "gpuMs": 1.5 if self.timestamps else None}


def numpy_engine(config: Config, weights: dict[str, Any], capacity: int, *, parts: int = 4) -> Engine:
    """The same wiring of programs as on a GPU."""
    device = NumpyDevice()
    cache = Cache.new(config, capacity, empty=device.empty, put=device.put)
    model = models.find(config.architecture)
    outputs: dict[int, Any] = {}

    def prefill(rows: int) -> Callable[[], None]:
        return lambda: outputs.update({rows: model.forward(config, weights, cache, rows=rows, parts=1)})

    def choose(rows: int, greedy: bool) -> Callable[[], None]:
        return lambda: head.choose(config, weights, cache, outputs[rows], greedy=greedy)

    def decode(greedy: bool) -> Callable[[], None]:
        def run() -> None:
            x = model.forward(config, weights, cache, rows=1, parts=parts)
            head.choose(config, weights, cache, x, greedy=greedy)

        return run

    both = (True, False)
    programs = Programs(
        prefill={n: device.program(f"prefill {n}", prefill(n)) for n in CHUNK_ROWS},
        choose={(n, g): device.program(f"choose {n} {g}", choose(n, g)) for n in CHUNK_ROWS for g in both},
        decode={g: device.program(f"decode {g}", decode(g)) for g in both},
    )
    return Engine(config, device, cache, programs)  # type: ignore[arg-type]
