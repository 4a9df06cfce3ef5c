"""From ids to ids: the prompt in chunks, then the token loop. Knows no text."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from webxpu.errors import DeviceError, ShapeError
from webxpu.gpu.device import Device
from webxpu.gpu.program import Loop, Program
from webxpu.llm.cache import Cache, Ledger
from webxpu.llm.config import Config
from webxpu.llm.sampler import Sampling, check_whole
from webxpu.llm.state import MAX_STOPS, State

# What a chunk costs besides its rows (its weights are read once more), counted in rows.
CHUNK_COST_ROWS = 16


@dataclass(frozen=True)
class Chunk:
    """A run of a prefill program: `rows` tokens from `start` on in a program of `size` rows."""

    start: int
    rows: int
    size: int


def plan_chunks(start: int, count: int, sizes: Sequence[int]) -> list[Chunk]:
    """How `count` tokens from position `start` on are fed: the cheapest mix of program sizes, largest first. The last
    chunk is padded."""
    descending = tuple(sorted(sizes, reverse=True))
    largest = descending[0]
    chunks = []
    for size in (largest,) * (count // largest) + _cheapest(count % largest, descending):
        rows = min(size, count)
        chunks.append(Chunk(start, rows, size))
        start, count = start + rows, count - rows
    return chunks


@functools.cache
def _cheapest(rows: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    if rows <= 0:
        return ()
    options = [(size, *_cheapest(rows - size, sizes)) for size in sizes]
    return min(options, key=lambda mix: sum(mix) + CHUNK_COST_ROWS * len(mix))


@dataclass(frozen=True)
class Programs:
    """What an engine replays, compiled.

    prefill   rows -> the program that feeds that many tokens
    choose    (rows, greedy) -> the program that chooses the id after such a chunk
    decode    greedy -> one step: feed the last id, choose the next one
    """

    prefill: Mapping[int, Program]
    choose: Mapping[tuple[int, bool], Program]
    decode: Mapping[bool, Program]

    def all(self) -> list[Program]:
        return [*self.prefill.values(), *self.choose.values(), *self.decode.values()]


@dataclass
class Engine:
    """A model on a device, one sequence at a time. `ledger` says which ids its cache holds."""

    config: Config
    device: Device
    cache: Cache
    programs: Programs
    ledger: Ledger = field(default_factory=Ledger)
    active: Generation | None = None

    def submit_prompt(self, ids: Sequence[int], reused: int, state: State) -> None:
        """Sends the new part of a prompt and every chunk of it in one bridge call; its last program chooses the first
        new id."""
        history, words = self.cache.history, self.cache.state
        fed = np.asarray(ids[reused:], np.int32)
        steps: list[list[Any]] = [["write", history.handle, history.offset + 4 * reused, fed.view(np.uint8)]]
        chunks = plan_chunks(reused, len(fed), tuple(self.programs.prefill))
        for chunk in chunks:
            state.position, state.rows = chunk.start, chunk.rows
            steps.append(["write", words.handle, words.offset, state.to_words().view(np.uint8)])
            steps.append(["run", self.programs.prefill[chunk.size].handle])
        steps.append(["run", self.programs.choose[chunks[-1].size, state.temperature == 0].handle])
        self.device.submit(steps)


@dataclass(frozen=True)
class Timings:
    """Wall-clock figures of a generation, measured from Python.

    prefill_ms            from the call to the first new id
    prefill_tokens        tokens of the prompt that had to run; the others were in the cache
    decode_tokens_per_s   over the ids after the first ones that came; 0 where none came after them
    gpu_ms                sum of GPU timestamps of the token loop, where they were asked for
    """

    load_ms: float
    prefill_ms: float
    prefill_tokens: int
    prefill_tokens_per_s: float
    decode_ms: float
    decode_tokens: int
    decode_tokens_per_s: float
    dispatches_per_token: int
    gpu_ms: float | None = None


class Generation:
    """The ids that follow a prompt, as they come: `async for ids in generation`, each a list of one or more.

    prompt_ids, ids    the prompt, and all ids so far, without a stop id
    reused_tokens      tokens of the prompt that were already in the cache
    finish_reason      None while it runs, then "stop", "length", "context" (no room left), "abort" or "error"
    timings            None while it runs

    A model runs one generation at a time: the first step of another one aborts this one.
    """

    def __init__(
        self,
        engine: Engine,
        ids: Sequence[int],
        *,
        sampling: Sampling,
        max_tokens: int | None = None,
        stop_ids: Sequence[int] = (),
        timestamps: bool = False,
        load_ms: float = 0.0,
    ) -> None:
        self._engine = engine
        self._sampling = sampling
        self._timestamps = timestamps
        self._load_ms = load_ms
        self._loop: Loop | None = None
        self._lock = asyncio.Lock()
        self._aborted = False
        self._marks: list[tuple[float, int]] = []  # (seconds, ids so far) when the call began and at each arrival
        self.prompt_ids = _checked_ids(ids, engine.config.vocab, engine.cache.capacity)
        self.stop_ids = sorted({int(i) for i in stop_ids})
        if len(self.stop_ids) > MAX_STOPS:
            raise ShapeError(f"generate: stop_ids must be at most {MAX_STOPS}, got {len(self.stop_ids)}")
        self.ids: list[int] = []
        self.reused_tokens = 0
        self.finish_reason: str | None = None
        self.timings: Timings | None = None
        room = engine.cache.capacity - len(self.prompt_ids)
        if max_tokens is not None:
            check_whole("generate", "max_tokens", max_tokens, 1)
        self._max_tokens = room if max_tokens is None else min(max_tokens, room)
        self._at_limit = "context" if max_tokens is None or max_tokens > room else "length"

    def abort(self) -> None:
        """Ends it; ids that are already here stay, what overran is discarded."""
        self._aborted = True
        if self._loop is not None and self.finish_reason is None:
            self._loop.abort()

    async def stop(self) -> None:
        """Aborts and waits until the GPU has nothing of it left to do."""
        self.abort()
        async for _ in self:
            pass

    def __aiter__(self) -> Generation:
        return self

    async def __anext__(self) -> list[int]:
        async with self._lock:
            if self.finish_reason is None and self._loop is None:
                await self._begin()
            if self.finish_reason is not None or self._loop is None:
                raise StopAsyncIteration
            try:
                ids = await self._loop.next()
                self.ids += ids
                self._marks.append((time.perf_counter(), len(self.ids)))
                if self._loop.reason is not None:
                    await self._finish(self._loop)
            except BaseException:
                await self._fail()
                raise
        if not ids:
            raise StopAsyncIteration
        return ids

    async def _begin(self) -> None:
        engine = self._engine
        if self._aborted:
            self.finish_reason = "abort"
            return
        if engine.active is not None:
            await engine.active.stop()
        self._marks.append((time.perf_counter(), 0))
        sampling, greedy = self._sampling, self._sampling.greedy
        state = State(
            seed=0 if greedy else sampling.resolved_seed(),
            top_k=sampling.top_k,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            min_p=sampling.min_p,
            capacity=engine.cache.capacity,
            stops=self.stop_ids,
        )
        self.reused_tokens = engine.ledger.reusable(self.prompt_ids)
        engine.ledger.begin(self.prompt_ids, self.reused_tokens)
        engine.active = self
        try:
            engine.submit_prompt(self.prompt_ids, self.reused_tokens, state)
            self._loop = engine.programs.decode[greedy].loop(
                self._max_tokens,
                ring=engine.cache.history,
                first=len(self.prompt_ids),
                ready=1,
                stops=self.stop_ids,
                timestamps=self._timestamps,
            )
        except BaseException:
            await self._fail()
            raise

    async def _finish(self, loop: Loop) -> None:
        engine, reason = self._engine, loop.reason
        report = await loop.close()
        # The last id of a generation that was cut has not been fed for certain; before a stop id every id was.
        known = self.ids if reason == "stop" else self.ids[:-1]
        engine.ledger.commit([*self.prompt_ids, *known])
        engine.active = None
        self.timings = self._timed(report.get("gpuMs"))
        self.finish_reason = self._at_limit if reason == "length" else reason

    async def _fail(self) -> None:
        """After an error nobody knows what the cache holds."""
        self._engine.ledger.clear()
        self._engine.active = None
        self.finish_reason = "error"
        if self._loop is not None:
            with contextlib.suppress(DeviceError):  # the error that led here is the one to report
                await self._loop.close()

    def _timed(self, gpu_ms: float | None) -> Timings:
        (began, _), (first, first_ids), (last, all_ids) = self._marks[0], self._marks[1], self._marks[-1]
        prefill_s, decode_s = first - began, last - first
        fed, decoded = len(self.prompt_ids) - self.reused_tokens, all_ids - first_ids
        return Timings(
            load_ms=self._load_ms,
            prefill_ms=prefill_s * 1e3,
            prefill_tokens=fed,
            prefill_tokens_per_s=fed / prefill_s if prefill_s else 0.0,
            decode_ms=decode_s * 1e3,
            decode_tokens=decoded,
            decode_tokens_per_s=decoded / decode_s if decode_s else 0.0,
            dispatches_per_token=self._engine.programs.decode[self._sampling.greedy].dispatches,
            gpu_ms=gpu_ms,
        )


def _checked_ids(ids: Sequence[int], vocab: int, capacity: int) -> list[int]:
    checked = [int(i) for i in ids]
    if not checked:
        raise ShapeError("generate: ids must hold at least one token, got none")
    for place, token in enumerate(checked):
        if not 0 <= token < vocab:
            raise ShapeError(f"generate: ids must be from 0 to {vocab - 1}, got {token} at index {place}")
    if len(checked) >= capacity:
        raise ShapeError(
            f"generate: ids must leave room in the context of {capacity} tokens, got {len(checked)}. "
            "Load the model with larger context_tokens or shorten the prompt."
        )
    return checked
