"""A device on which the engine runs the NumPy reference: programs are functions, buffers are arrays, and each call that
would cross into the bridge is noted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from webxpu.gpu.program import Counter
from webxpu.llm import models
from webxpu.llm.cache import Cache
from webxpu.llm.config import Config
from webxpu.llm.engine import Engine
from webxpu.llm.model import CHUNK_ROWS
from webxpu.llm.programs import Programs, Recorded
from webxpu.llm.sequence import Sequence as Conversation


class Array(np.ndarray):
    """An array with what the engine asks of a tensor. Ops take it for the array that it is."""

    handle: int
    offset = 0
    freed = False

    async def numpy(self) -> np.ndarray:
        return np.array(self)

    def free(self) -> None:
        self.freed = True


class NumpyDevice:
    """What the engine asks of a device, and of its bridge."""

    def __init__(self, vocab: int) -> None:
        self.vocab = vocab
        self.arrays: list[Array] = []
        self.programs: list[NumpyProgram] = []
        self.calls: list[str] = []
        self.ran: list[str] = []
        self.bridge = self

    def put(self, values: np.ndarray) -> Array:
        array = np.array(values).view(Array)
        array.handle = len(self.arrays)
        self.arrays.append(array)
        return array

    tensor = put

    def empty(self, shape: tuple[int, ...], dtype: str) -> Array:
        return self.put(np.zeros(shape, dtype))

    def record(self, label: str, body: Callable[[], Any]) -> Recorded:
        made = NumpyProgram(self, label, body, len(self.programs))
        self.programs.append(made)
        return Recorded(made, lambda: made.output)  # type: ignore[arg-type]

    def submit(self, steps: Sequence[Sequence[Any]]) -> None:
        self.calls.append("submit")
        for kind, handle, *rest in steps:
            if kind == "write":
                offset, data = rest
                target = self._bytes(handle)
                assert offset + len(data) <= len(target)
                target[offset : offset + len(data)] = data
            elif kind == "copy":
                start, to, at, count = rest
                assert handle != to
                self._bytes(to)[at : at + count] = self._bytes(handle)[start : start + count]
            else:
                assert kind == "run"
                self.programs[handle].run()

    async def read_into(self, handle: int, offset: int, target: np.ndarray) -> None:
        self.calls.append("read")
        target[:] = self._bytes(handle)[offset : offset + len(target)]

    async def sync(self) -> None:
        self.calls.append("sync")

    def _bytes(self, handle: int) -> np.ndarray:
        assert not self.arrays[handle].freed
        return np.asarray(self.arrays[handle]).reshape(-1).view(np.uint8)


class NumpyProgram:
    dispatches = 12

    def __init__(self, device: NumpyDevice, label: str, body: Callable[[], Any], handle: int) -> None:
        self.device, self.label, self._body, self._handle = device, label, body, handle
        self._output: Array | None = None
        self.compiled = True

    @property
    def handle(self) -> int:
        return self._handle

    def run(self) -> None:
        self.device.ran.append(self.label)
        made = self._body()
        if isinstance(made, np.ndarray):
            # As on a GPU, a program's result is one buffer that every run overwrites.
            if self._output is None:
                self._output = self.device.put(made)
            self._output[:] = made

    @property
    def output(self) -> Array:
        if self._output is None:  # whoever asks before the first run asks for scores
            self._output = self.device.put(np.zeros(self.device.vocab, np.float32))
        return self._output

    def free(self) -> None:
        self.device.calls.append("free")

    def loop(self, max_tokens: int, **options: Any) -> NumpyLoop:
        self.device.calls.append("loop")
        return NumpyLoop(self, max_tokens, **options)


class NumpyLoop:
    """The bridge's loop as its documentation has it: batches of 1, 2, 4, 8 runs, one batch ahead of the reader."""

    def __init__(
        self, program: NumpyProgram, max_tokens: int, *, ring: Array, first: int, ready: int, stops: Sequence[int],
        timestamps: bool, wraps: bool = False, rows: Array | None = None, counter: Counter | None = None,
    ) -> None:  # fmt: skip
        assert wraps or first + max_tokens <= len(ring)
        self.program, self.max_tokens, self.ring, self.first, self.stops = program, max_tokens, ring, first, stops
        self.made, self.kept, self.size = min(ready, max_tokens), 0, 1
        self.ring_rows, self.rows, self.counter = rows, None, counter
        self.reason: str | None = None
        self.timestamps = timestamps
        self.fail: Exception | None = None
        self.aborted = self.closed = False

    async def next(self) -> list[int]:
        self.program.device.calls.append("next")
        assert not self.closed
        if self.fail is not None:
            raise self.fail
        if self.aborted and self.reason is None:
            self.reason = "abort"
        if self.reason is not None:
            return []
        if self.made == self.kept:
            self._run()
        places = np.arange(self.first + self.kept, self.first + self.made) % len(self.ring)
        batch = self.ring[places].tolist()
        found = np.array(self.ring_rows[places]) if self.ring_rows is not None else None
        self._run()
        ids: list[int] = []
        for i in batch:
            if i in self.stops:
                self.reason = "stop"
                break
            ids.append(i)
        self.kept += len(ids)
        if self.ring_rows is not None:
            self.rows = found[: len(ids)]
        if self.reason is None and self.kept == self.max_tokens:
            self.reason = "length"
        return ids

    def _run(self) -> None:
        for _ in range(min(self.size, self.max_tokens - self.made)):
            self.program.run()
            self.made += 1
        if self.counter is not None:  # as on a GPU, the last runs may have made more than is wanted
            made = int(self.counter.words[self.counter.word]) - self.counter.start
            self.made = min(made, self.max_tokens)
        self.size = min(8, self.size * 2)

    def abort(self) -> None:
        """As on a GPU, only the next answer says so."""
        self.aborted = True

    async def close(self) -> dict[str, Any]:
        if self.closed:
            return {}
        self.program.device.calls.append("close")
        self.closed = True
        return {"submitted": self.made, "kept": self.kept, "gpuMs": 1.5 if self.timestamps else None}


def numpy_engine(
    config: Config, weights: dict[str, Any], capacity: int, *, parts: int = 4, identity: str = "", **options: Any
) -> ConversationOnNumpy:
    """A sequence in an engine that records the same programs as on a GPU."""
    device = NumpyDevice(config.vocab)
    cache = Cache.new(config, capacity, empty=device.empty, put=device.put, **options)
    programs = Programs(
        device.record, models.find(config.architecture), config, weights, cache, sizes=CHUNK_ROWS, parts=parts,
        empty=device.empty,
    )  # fmt: skip
    return ConversationOnNumpy(Engine(config, device, cache, programs, identity=identity))  # type: ignore[arg-type]


class ConversationOnNumpy(Conversation):
    """With what tests look at."""

    @property
    def device(self) -> NumpyDevice:
        assert isinstance(self.engine.device, NumpyDevice)
        return self.engine.device

    @property
    def cache(self) -> Cache:
        return self.engine.cache

    def another(self) -> ConversationOnNumpy:
        """A second conversation in the same engine."""
        return ConversationOnNumpy(self.engine)
