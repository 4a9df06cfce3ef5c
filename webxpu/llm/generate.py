"""From ids to ids: the prompt in chunks, then the token loop. Knows no text."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from webxpu.errors import ContextOverflow, DeviceError
from webxpu.gpu.program import Counter
from webxpu.llm.engine import Engine
from webxpu.llm.ids import checked_ids
from webxpu.llm.lookup import LookupRun, Speculation
from webxpu.llm.reader import Reader
from webxpu.llm.request import Request
from webxpu.llm.sampler import Sampling, check_whole
from webxpu.llm.state import EVICTED, STEP, State
from webxpu.llm.stepped import Stepped
from webxpu.llm.timings import Timings, timed
from webxpu.ops._rows import DECODE_ROWS

if TYPE_CHECKING:
    from webxpu.llm.sequence import Sequence as Conversation

# Ids of a generation that nothing bounds: more than a loop ever makes.
UNBOUNDED = 2**31 - 1


class Run(Protocol):
    """Something that makes ids until it says why it ended: the bridge's loop, or a loop that Python takes part in."""

    @property
    def reason(self) -> str | None: ...
    @property
    def rows(self) -> Any: ...
    async def next(self) -> list[int]: ...
    def abort(self) -> None: ...
    async def close(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Logprobs:
    """The log-probability of an id, and the most likely ids with theirs, highest first. Over the whole vocabulary,
    after penalties, before dry, constraint, temperature and filters."""

    logprob: float
    top: list[tuple[int, float]]


def logprobs_of(row: Any) -> Logprobs:
    """What `webxpu.ops.logprobs` wrote for an id."""
    return Logprobs(float(row[0]), [(int(i), float(v)) for i, v in zip(row[1::2], row[2::2], strict=True)])


class Generation:
    """The ids that follow a prompt, as they come: `async for ids in generation`, each a list of one or more.

    prompt_ids, ids    the prompt, and all ids so far, without a stop id
    stop_ids           ids that end it
    reused_tokens      tokens of the prompt that were already in the cache
    logprobs           of each id a `Logprobs`, where they were asked for; else empty
    speculation        what prompt lookup did, a `webxpu.llm.lookup.Speculation`, where it was asked for; else None
    finish_reason      None while it runs, then "stop", "length", "context" (no room left), "abort" or "error"
    timings            None while it runs, and where it ended before its first step

    A sequence runs one generation at a time: the first step of another one aborts this one. Generations of other
    sequences take turns with it. Leaving an `async for` early aborts it.
    """

    def __init__(
        self,
        sequence: Conversation,
        ids: Sequence[int],
        *,
        sampling: Sampling,
        max_tokens: int | None = None,
        load_ms: float = 0.0,
        **options: Any,
    ) -> None:
        self._sequence = sequence
        self._engine: Engine = sequence.engine
        self._asked = Request(self._engine, sampling=sampling, **options)
        self._seed = 0
        self._load_ms = load_ms
        self._run: Run | None = None
        self._lock = asyncio.Lock()
        self._aborted = False
        self._gpu_ms: float | None = None
        self._marks: list[tuple[float, int]] = []  # (seconds, ids so far) when the call began and at each arrival
        capacity = self._engine.cache.capacity
        self.prompt_ids = checked_ids(ids, self._engine.config.vocab)
        sequence.ledger.check(self.prompt_ids)
        self.stop_ids = self._asked.stop_ids
        self.speculation = Speculation() if self._asked.lookup else None
        self.ids: list[int] = []
        self.logprobs: list[Logprobs] = []
        self.reused_tokens = 0
        self.finish_reason: str | None = None
        self.timings: Timings | None = None
        if max_tokens is not None:
            check_whole("generate", "max_tokens", max_tokens, 1)
        room = UNBOUNDED if self._engine.cache.sinks else capacity - len(self.prompt_ids)
        self._max_tokens = room if max_tokens is None else min(max_tokens, room)
        self._at_limit = "context" if max_tokens is None or max_tokens > room else "length"

    def abort(self) -> None:
        """Ends it; ids that are already here stay, what overran is discarded."""
        self._aborted = True
        if self._run is not None and self.finish_reason is None:
            self._run.abort()

    async def stop(self) -> None:
        """Aborts and waits until the GPU has nothing of it left to do."""
        self.abort()
        while self.finish_reason is None:
            await anext(self, None)

    aclose = stop

    async def pause(self) -> None:
        """Leaves the GPU to another sequence; the next step takes it back. Called by whoever holds the turn."""
        if self._run is not None:
            self._run.abort()
        async with self._lock:
            if self._run is not None:
                await self._guarded(self._end(self._run))

    def __aiter__(self) -> Reader:
        return Reader(self)

    async def __anext__(self) -> list[int]:
        ids: list[int] = []
        while not ids and self.finish_reason is None:
            if self._run is None:
                await self._take_turn()
            async with self._lock:  # whoever waits to pause it goes first
                if self._run is not None and self.finish_reason is None:
                    ids = await self._guarded(self._step(self._run))
        if not ids:
            raise StopAsyncIteration
        return ids

    async def _take_turn(self) -> None:
        if self._aborted:
            self._finish("abort")
            return
        if not self._marks:
            self._marks.append((time.perf_counter(), 0))
            self._seed = self._asked.seed()  # one for all of its turns
        engine, sequence = self._engine, self._sequence
        async with engine.turn:
            if self._run is not None or self.finish_reason is not None:
                return  # somebody else asked for the next ids too
            if sequence.running not in (None, self):
                await sequence.running.stop()
            await engine.quiet()
            try:
                sequence.ledger.check([*self.prompt_ids, *self.ids])
            except ContextOverflow:
                self.finish_reason = "error"
                raise
            sequence.running = engine.active = self
            await self._guarded(self._start())

    async def _start(self) -> None:
        """Places the sequence on the GPU, feeds what of it is not there, and starts the loop: at first with the id that
        the prompt's last program chooses, after a pause with the last id that is not fed yet."""
        engine, ledger, asked = self._engine, self._sequence.ledger, self._asked
        needed = engine.programs.needed(asked.choice)
        await engine.programs.compile([*needed, engine.programs.verify()] if self._verifies else needed)
        if self._aborted:
            self._finish("abort")
            return
        known, left = [*self.prompt_ids, *self.ids], self._max_tokens - len(self.ids)
        kept = ledger.begin(known, left)
        state = asked.state(engine, len(self.ids), self._seed)
        if self._verifies:
            state.capacity = len(known) + left  # a run makes several ids, and none may lie past the sequence's pages
        steps = [*engine.placing(ledger, known), *asked.biasing(engine)]
        state.position, state.evicted = kept - ledger.evicted, ledger.evicted
        if not self.ids:
            self.reused_tokens = kept
        if asked.stepped:
            steps += engine.standing(state)  # `_end` reads it, also where no step was made
            engine.submit(steps)
            self._run = self._steps(known, kept, left, state)
            return
        if not self.ids:
            more, rows = engine.feeding(len(known) - kept, state)
            steps += [*more, ["run", engine.programs.after(rows, asked.choice).handle]]
        elif kept < len(known) - 1:
            steps += engine.feeding(len(known) - 1 - kept, state)[0]
        if self.ids:
            state.position, state.rows = len(known) - 1 - ledger.evicted, 1
            steps += engine.standing(state)
        engine.submit(steps)
        ready = 0 if self.ids else 1
        self._run = self._lookups(known, left, ready) if self._verifies else self._loop(len(known), left, ready)

    @property
    def _verifies(self) -> bool:
        """Whether its runs verify drafts: they were asked for, and did not turn out to be of no use."""
        return self.speculation is not None and not self.speculation.switched_off

    def _loop(self, first: int, max_tokens: int, ready: int) -> Run:
        cache, programs, choice = self._engine.cache, self._engine.programs, self._asked.choice
        assert choice is not None, "where the host chooses, it takes steps"
        return programs.decode(choice).loop(
            max_tokens, ring=cache.history, first=first % cache.capacity, ready=ready, stops=self.stop_ids,
            timestamps=self._asked.timestamps, wraps=cache.sinks > 0,
            rows=programs.tables.logprobs(choice.logprobs) if choice.logprobs else None,
        )  # fmt: skip

    def _lookups(self, known: list[int], max_tokens: int, ready: int) -> Run:
        """A loop of runs that verify drafts; where few hold, it goes over to plain ones."""
        engine, asked, made = self._engine, self._asked, len(self.ids)
        cache = engine.cache
        assert self.speculation is not None, "there is something to count into"

        def verifying() -> Any:
            return engine.programs.verify().loop(
                max_tokens, ring=cache.history, first=len(known), ready=ready, stops=self.stop_ids,
                timestamps=asked.timestamps, counter=Counter(cache.state, STEP, made, DECODE_ROWS),
            )  # fmt: skip

        def plain(came: int) -> Any:
            ids = [*known, *run.ids]
            state = asked.state(engine, made + came, self._seed)
            state.position = len(ids) - 1
            engine.submit([*engine.remembering(ids, 0), *engine.standing(state)])
            return self._loop(len(ids), max_tokens - came, 0)

        run = LookupRun(
            self.speculation, known, len(known) + max_tokens,
            ready=ready, auto=asked.auto, verifying=verifying, plain=plain,
        )  # fmt: skip
        return run

    def _steps(self, known: list[int], kept: int, max_tokens: int, state: State) -> Stepped:
        return Stepped(
            self._engine, self._sequence.ledger, known, kept, state, prompt_tokens=len(self.prompt_ids),
            max_tokens=max_tokens, stops=self.stop_ids, choice=self._asked.choice, dry=self._asked.sampling.dry,
            constraint=self._asked.constraint, sampler=self._asked.sampler,
        )  # fmt: skip

    async def _step(self, run: Run) -> list[int]:
        ids = await run.next()
        self.ids += ids
        if ids and self._asked.choice is not None and self._asked.choice.logprobs:
            self.logprobs += [logprobs_of(row) for row in run.rows]
        self._marks.append((time.perf_counter(), len(self.ids)))
        if run.reason is not None:
            await self._end(run)
        return ids

    async def _end(self, run: Run) -> None:
        """Takes stock after a loop: what the cache holds, and whether that was all or a pause."""
        engine = self._engine
        reason = run.reason or "abort"  # a loop that was asked to end says so in its next answer only
        report = await run.close()
        if report.get("gpuMs") is not None:
            self._gpu_ms = (self._gpu_ms or 0.0) + report["gpuMs"]
        known = [*self.prompt_ids, *self.ids]
        if isinstance(run, Stepped):
            known = known[: run.fed]
        elif self.ids and reason != "stop":
            known.pop()  # it has not been fed for certain; before a stop id every id was
        evicted = int((await engine.cache.state.numpy())[EVICTED]) if engine.cache.sinks else None
        self._sequence.ledger.commit(known, evicted)
        self._run = engine.active = None
        if reason == "abort" and not self._aborted:
            return
        self._finish(reason)

    def _finish(self, reason: str) -> None:
        sequence, engine = self._sequence, self._engine
        if sequence.running is self:
            sequence.running = None
        if engine.active is self:
            engine.active = None
        if len(self._marks) > 1:
            self.timings = timed(
                self._marks,
                fed=len(self.prompt_ids) - self.reused_tokens,
                load_ms=self._load_ms,
                dispatches_per_token=engine.programs.step(self._asked.choice).dispatches,
                gpu_ms=self._gpu_ms,
            )
        self.finish_reason = self._at_limit if reason == "length" else reason

    async def _guarded(self, work: Any) -> Any:
        """Awaits a part of the work. After an error nobody knows what the cache holds; where the caller's task was
        cancelled, that is an abort like any other."""
        try:
            return await work
        except asyncio.CancelledError:
            self.abort()
            with contextlib.suppress(DeviceError):
                if self._run is not None:
                    await self._end(self._run)
            raise
        except BaseException:
            await self._fail()
            raise

    async def _fail(self) -> None:
        self._sequence.ledger.clear()
        self._sequence.running = self._engine.active = None
        self.finish_reason = "error"
        run, self._run = self._run, None
        if run is not None:
            with contextlib.suppress(DeviceError):  # the error that led here is the one to report
                await run.close()
