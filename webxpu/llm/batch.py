"""Several sequences decoded together: most weights are multiplied by all rows at once, attention has its own pages."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from webxpu import ops
from webxpu.errors import ContextOverflow, ShapeError
from webxpu.llm import head
from webxpu.llm.cache import Cache
from webxpu.llm.config import Config
from webxpu.llm.head import Choice
from webxpu.llm.models import _decoder as decoder
from webxpu.llm.reader import Reader
from webxpu.llm.state import WORDS
from webxpu.llm.tables import Tables
from webxpu.llm.weights import runs
from webxpu.ops.cache import PAGE_TOKENS
from webxpu.ops.norm_qkv import is_fused

if TYPE_CHECKING:
    from webxpu.llm.engine import Engine, Steps
    from webxpu.llm.ledger import Ledger
    from webxpu.llm.request import Request

# Sequences that one program takes: its rows are summed in the order of one.
MOST_SEQUENCES = 8
# Steps of a submission; later ones have as many as the last.
SIZES = (1, 2, 4, 8)


@dataclass(frozen=True)
class Lane:
    """Where one of the sequences lies.

    cache    the engine's layers, and pages, history and state of its own
    row      (1,) int32: its row among those of all
    """

    cache: Cache
    row: Any


def step(
    config: Config, w: Mapping[str, Any], lanes: Sequence[Lane], choice: Choice, *, parts: int, tables: Tables
) -> None:
    """Feeds the last id of each sequence and chooses its next one; each has the bits that it has alone.

    choice   how all of them choose, without what a host takes part in or reads besides the ids
    parts    how many ways attention splits its keys
    """
    c = config
    x = _stacked(
        [
            ops.embed(w["embedding"], lane.cache.history, lane.cache.state, rows=1, scale=c.embedding_scale)
            for lane in lanes
        ]
    )  # (B,K)
    for i in range(c.layers):
        x = decoder.attention_out(c, w, i, *_attention(c, w, lanes, i, x, parts), x)
        x = decoder.feed_forward(c, w, i, x)
    ending = w["head"], x, w["head_gain"], lanes[0].cache.state
    if choice.plain:
        values, ids = ops.norm_head_rows_argmax(*ending, eps=c.rms_eps)  # (B,n)
        for row, lane in enumerate(lanes):
            ops.accept(values, ids, lane.cache.history, lane.cache.state, first=row)
        return
    logits = ops.norm_head_rows(*ending, eps=c.rms_eps)  # (B,V)
    for lane in lanes:
        head.draw(lane.cache, ops.gather(logits, lane.row).reshape(c.vocab), choice, tables)


def _attention(c: Config, w: Mapping[str, Any], lanes: Sequence[Lane], i: int, x: Any, parts: int) -> tuple[Any, Any]:
    """(B, H, parts, D) and (B, H, parts, 2): what `attend` returns for each sequence."""
    extra, how = decoder.rope_options(c, w, lanes[0].cache, i)
    gain, projections = w[f"{i}.attention_gain"], runs(w, f"{i}.qkv")
    # Where alone one kernel does it all, another one might round otherwise.
    fused = len(projections) == 1 and is_fused(lanes[0].cache.kv, c.rope_pairs, c.qk_norm)
    if fused:
        qkv = None
    elif len(projections) == 1:
        qkv = ops.norm_linear(projections[0], x, gain, eps=c.rms_eps)
    else:
        qkv = decoder.joined(projections, x, gain, c.rms_eps)
    accs, stats = [], []
    for lane in lanes:
        kv, pages, state = lane.cache.layers[i], lane.cache.pages, lane.cache.state
        place = lane.cache.tables[i], kv, pages, state, *extra
        if fused:
            q = ops.norm_qkv(projections[0], ops.gather(x, lane.row), gain, *place, **how)
        else:
            q = ops.rope_write(ops.gather(qkv, lane.row), *place, **how)
        acc, stat = ops.attend(q, kv, pages, state, parts=parts, scale=c.attention_scale, window=c.window(i))
        accs.append(acc)
        stats.append(stat)
    shape = (len(lanes), c.heads, parts)
    return _stacked(accs).reshape(*shape, c.head_dim), _stacked(stats).reshape(*shape, 2)


def _stacked(rows: Sequence[Any]) -> Any:
    """(B, N) of B arrays of N values."""
    first, *others = (row.reshape(1, -1) for row in rows)
    for other in others:
        first = ops.join(first, other)
    return first.reshape(len(rows), -1)


def lanes_of(engine: Engine, count: int) -> list[Lane]:
    """The lanes for a number of sequences, the same each time."""
    if count not in engine.lanes:
        engine.lanes[count] = [_lane(engine.device, engine.cache, row) for row in range(count)]
    return engine.lanes[count]


def free_lanes(engine: Engine) -> None:
    """Gives the memory of all lanes back."""
    while engine.lanes:
        _, lanes = engine.lanes.popitem()
        for lane in lanes:
            for tensor in (lane.cache.pages, lane.cache.history, lane.cache.state, lane.row):
                tensor.free()


def _lane(device: Any, cache: Cache, row: int) -> Lane:
    pages, history = device.empty(cache.pages.shape, "int32"), device.empty((cache.capacity,), "int32")
    own = replace(cache, pages=pages, history=history, state=device.empty((WORDS,), "uint32"))
    return Lane(own, device.tensor(np.array([row], np.int32)))


class Together:
    """The ids that follow several prompts, as they come: `async for index, ids in together`, of whichever prompt.

    prompts         the prompts
    ids             of each prompt all ids so far, without a stop id
    finish_reasons  of each None while it runs, then "stop", "length", "context" (no room left), "abort" or "error"

    It has the GPU to itself: other generations wait until it is done. Leaving an `async for` early aborts it.
    """

    def __init__(
        self, engine: Engine, prompts: Sequence[list[int]], *, asked: Request, max_tokens: int | None = None
    ) -> None:
        capacity = engine.cache.capacity
        if not 2 <= len(prompts) <= MOST_SEQUENCES:
            rule = f"2 to {MOST_SEQUENCES} prompts"
            raise ShapeError(f"generate_together: prompts must be {rule}, got {len(prompts)}")
        if engine.cache.sinks:
            raise ShapeError("generate_together: the model must be loaded with sink_tokens 0, got a rolling window")
        for prompt in prompts:
            if len(prompt) >= capacity:
                raise ContextOverflow(len(prompt), capacity)
        self.prompts = [list(prompt) for prompt in prompts]
        self.ids: list[list[int]] = [[] for _ in prompts]
        self.finish_reasons: list[str | None] = [None for _ in prompts]
        self._engine = engine
        self._asked = asked
        rooms = [capacity - len(prompt) for prompt in self.prompts]
        self._most = [room if max_tokens is None else min(max_tokens, room) for room in rooms]
        self._at_limit = ["context" if max_tokens is None or max_tokens > room else "length" for room in rooms]
        pages = sum(-(-(len(p) + most) // PAGE_TOKENS) for p, most in zip(self.prompts, self._most, strict=True))
        if pages > engine.pool.pages:
            raise ShapeError(
                f"generate_together: prompts must fit the cache of {engine.pool.pages} pages of {PAGE_TOKENS} tokens "
                f"with their replies, got {pages}. Ask for fewer max_tokens or load the model with more sequences."
            )
        self._aborted = False
        self._lock = asyncio.Lock()
        self._iterator = self._run()

    @property
    def finish_reason(self) -> str | None:
        """None while any of them runs, then how the first one ended."""
        return None if None in self.finish_reasons else self.finish_reasons[0]

    def abort(self) -> None:
        """Ends all; ids that are already here stay, what overran is discarded."""
        self._aborted = True

    async def stop(self) -> None:
        """Aborts and waits until the GPU has nothing of them left to do."""
        self.abort()
        async with self._lock:
            await self._iterator.aclose()
        self._finish("abort")

    aclose = stop

    def __aiter__(self) -> Reader:
        return Reader(self)

    async def __anext__(self) -> tuple[int, list[int]]:
        async with self._lock:
            return await anext(self._iterator)

    def _finish(self, reason: str) -> None:
        """Of those that have not ended yet."""
        self.finish_reasons = [known or reason for known in self.finish_reasons]

    async def _run(self) -> AsyncGenerator[tuple[int, list[int]], None]:
        try:
            async with self._engine.turn, self._flight() as flight:
                while None in self.finish_reasons and not self._aborted:
                    while flight.wanted():
                        flight.send()
                    for taken in self._taken(*await flight.land()):
                        yield taken
        except Exception:
            self._finish("error")
            raise
        finally:
            self._finish("abort")

    @contextlib.asynccontextmanager
    async def _flight(self) -> AsyncIterator[Flight]:
        """Feeds the prompts. In the end nothing of them is under way, and their pages are free."""
        engine, asked = self._engine, self._asked
        await engine.quiet()
        lanes = lanes_of(engine, len(self.prompts))
        assert asked.choice is not None, "nothing of it is the host's to choose"
        program = engine.programs.together(lanes, asked.choice)
        choosing = [engine.programs.choose(rows, asked.choice) for rows in engine.programs.sizes]
        await engine.programs.compile([*choosing, program])
        ledgers = [engine.ledger() for _ in self.prompts]
        flight = Flight(engine, lanes, program, [len(prompt) for prompt in self.prompts], self._most)
        try:
            seed = asked.seed()
            for index, (ledger, lane) in enumerate(zip(ledgers, lanes, strict=True)):
                engine.submit(self._fed(index, ledger, lane, asked.choice, seed))
            yield flight
        finally:
            await flight.end()
            for ledger in ledgers:
                ledger.clear()

    def _fed(self, index: int, ledger: Ledger, lane: Lane, choice: Choice, seed: int) -> Steps:
        """Steps that feed a prompt, choose its first id, and leave all that is known of it in its lane."""
        engine, prompt = self._engine, self.prompts[index]
        state = self._asked.state(engine, 0, seed)
        # Where all its pages are full a sequence is done, whatever the others still run.
        state.capacity = len(prompt) + self._most[index]
        state.position = ledger.begin(prompt, self._most[index])
        steps = [*engine.placing(ledger, prompt), *self._asked.biasing(engine)]
        more, rows = engine.feeding(len(prompt) - state.position, state)
        steps += [*more, ["run", engine.programs.choose(rows, choice).handle]]
        for name in ("pages", "history", "state"):
            source, target = getattr(engine.cache, name), getattr(lane.cache, name)
            steps.append(["copy", source.handle, source.offset, target.handle, target.offset, source.nbytes])
        return steps

    def _taken(self, first: int, found: NDArray[np.int32]) -> list[tuple[int, list[int]]]:
        """The new ids of each sequence that still runs; `first` is the number of the first of them."""
        taken = []
        for index, row in enumerate(found):
            if self.finish_reasons[index] is not None:
                continue
            ids = [int(i) for i in row[: self._most[index] - first]]
            stop = next((i for i, token in enumerate(ids) if token in self._asked.stop_ids), None)
            self.ids[index] += ids[:stop]
            if stop is not None:
                self.finish_reasons[index] = "stop"
            elif len(self.ids[index]) == self._most[index]:
                self.finish_reasons[index] = self._at_limit[index]
            if ids[:stop]:
                taken.append((index, ids[:stop]))
        return taken


class Flight:
    """Steps that are under way, at most two submissions ahead of what is read back. Each step makes an id of each
    sequence; the prompts' programs have made the first one."""

    def __init__(
        self, engine: Engine, lanes: Sequence[Lane], program: Any, starts: Sequence[int], most: Sequence[int]
    ) -> None:
        self._engine, self._lanes, self._program, self._starts = engine, lanes, program, starts
        self._left = max(most)
        self._sent = 0
        self._sizes = list(SIZES)
        self._spare = [engine.device.empty((len(lanes), SIZES[-1]), "int32") for _ in range(2)]
        self._buffers = list(self._spare)
        self._flying: list[tuple[int, int, Any, asyncio.Task[Any]]] = []

    def wanted(self) -> bool:
        return len(self._flying) < 2 and self._sent < self._left

    def send(self) -> None:
        """Submits the next steps; the first time only asks for what the prompts' programs have chosen."""
        count = min(self._sizes[0], self._left - self._sent)
        steps: Steps = []
        if self._sent:
            steps = [["run", self._program.handle]] * count
            del self._sizes[: len(self._sizes) > 1]
        buffer = self._spare.pop()
        for row, (lane, start) in enumerate(zip(self._lanes, self._starts, strict=True)):
            history, at = lane.cache.history, start + self._sent
            there = min(count, self._engine.cache.capacity - at)
            if there > 0:
                place = buffer.offset + 4 * SIZES[-1] * row
                steps.append(["copy", history.handle, history.offset + 4 * at, buffer.handle, place, 4 * there])
        self._engine.submit(steps)
        self._flying.append((self._sent, count, buffer, asyncio.ensure_future(buffer.numpy())))
        self._sent += count

    async def land(self) -> tuple[int, NDArray[np.int32]]:
        """The number of the oldest submission's first id, and (B, n) the ids."""
        first, count, buffer, task = self._flying.pop(0)
        found: NDArray[np.int32] = await task
        self._spare.append(buffer)
        return first, np.array(found[:, :count])

    async def end(self) -> None:
        """Waits for what is under way and frees the buffers."""
        await asyncio.gather(*(task for *_, task in self._flying), return_exceptions=True)
        for buffer in self._buffers:
            buffer.free()
