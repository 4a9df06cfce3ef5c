"""A token loop that Python takes part in: before each token it may say which are allowed, or choose one itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import ShapeError
from webxpu.llm.constraints import Constraint, allowed_ids, allowed_mask
from webxpu.llm.dry import Dry
from webxpu.llm.engine import Engine, Steps
from webxpu.llm.head import Choice
from webxpu.llm.ledger import Ledger
from webxpu.llm.state import EVICTED, State
from webxpu.ops.cache import PAGE_TOKENS

if TYPE_CHECKING:
    from webxpu.gpu.program import Program

F32 = NDArray[np.float32]


class Picks(Protocol):
    """Chooses the next id from scores (V,); `ids` are those of prompt and reply, `allowed` as a constraint says."""

    def pick(self, logits: F32, ids: Sequence[int], allowed: Collection[int] | None = None) -> int: ...


class Stepped:
    """Makes ids one by one, with the interface of `webxpu.gpu.program.Loop`.

    Each step uploads what Python has to say, feeds the ids that are not fed yet, and reads one id back, or all scores
    where a sampler on the host chooses. An id that is the only one allowed costs nothing: it is fed with the next one.

    ids      prompt and reply so far
    fed      how many of them the cache holds
    rows     the log-probabilities of the ids that came last, where they were asked for
    """

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        ids: Sequence[int],
        fed: int,
        state: State,
        *,
        prompt_tokens: int,
        max_tokens: int,
        stops: Collection[int],
        choice: Choice | None,
        dry: Dry | None = None,
        constraint: Constraint | None = None,
        sampler: Picks | None = None,
    ) -> None:
        self.ids = list(ids)
        self.fed = fed
        self.rows: F32 | None = None
        self.reason: str | None = None
        self._engine = engine
        self._ledger = ledger
        self._state = state
        self._prompt_tokens = prompt_tokens
        self._most = len(ids) + max_tokens
        self._stops = frozenset(stops)
        self._choice = choice
        self._dry = dry
        self._constraint = constraint
        self._sampler = sampler
        self._aborted = False

    async def next(self) -> list[int]:
        """The next id; none once it is over, and `reason` then says why."""
        if self.reason is not None:
            return []
        token = await self._next_id()
        if self._aborted:  # while it waited
            return []
        if token in self._stops:
            self.reason = "stop"
            return []
        self.ids.append(token)
        self._state.step += 1
        if len(self.ids) == self._most:
            self.reason = "length"
        return [token]

    def abort(self) -> None:
        if self.reason is None:
            self.reason, self._aborted = "abort", True

    async def close(self) -> dict[str, Any]:
        return {}

    async def _next_id(self) -> int:
        allowed = self._allowed()
        if allowed is not None and len(allowed) == 1 and self._may_wait():
            return int(next(iter(allowed)))
        steps = self._said(allowed)
        program = self._feed(steps)
        steps.append(["run", program.handle])
        self._engine.submit(steps)
        self.fed = len(self.ids)
        if self._sampler is None:
            return await self._chosen()
        scores = await self._engine.programs.output_of(program).numpy()
        return self._checked(self._sampler.pick(np.array(scores), self.ids, allowed))

    def _checked(self, picked: object) -> int:
        vocab = self._engine.config.vocab
        if not isinstance(picked, int | np.integer) or not 0 <= picked < vocab:
            raise ShapeError(f"generate: sampler must pick an id from 0 to {vocab - 1}, got {picked!r}")
        return int(picked)

    def _may_wait(self) -> bool:
        """Whether one more id can wait to be fed: the window has room for it, and nobody asked how likely it is."""
        room = len(self.ids) - self._state.evicted < self._state.capacity
        return room and not (self._choice is not None and self._choice.logprobs)

    def _allowed(self) -> Collection[int] | None:
        if self._constraint is None:
            return None
        return allowed_ids(self._constraint, self.ids[self._prompt_tokens :], self._engine.config.vocab)

    def _said(self, allowed: Collection[int] | None) -> Steps:
        """Steps that upload the mask and the penalties of the next token."""
        tables, steps = self._engine.programs.tables, Steps()
        if self._choice is not None and self._choice.masked:
            steps.append(_write(tables.mask, allowed_mask(allowed, tables.vocab)))
        if self._dry is not None and self._choice is not None:
            penalties = self._dry.penalties(self.ids[-tables.capacity :])
            dry, values = np.full(tables.capacity, -1, np.int32), np.zeros(tables.capacity, np.float32)
            dry[: len(penalties)], values[: len(penalties)] = list(penalties), list(penalties.values())
            steps += [_write(tables.dry_ids, dry), _write(tables.dry_values, values)]
        return steps

    def _feed(self, steps: Steps) -> Program:
        """Adds steps that feed the ids that are not fed yet; the program that ends them."""
        engine, state = self._engine, self._state
        if self._sampler is not None:
            steps += self._made_room()
        state.position, state.rows = self.fed - state.evicted, 1
        waiting = self.ids[self.fed :]
        steps += engine.remembering(waiting, self.fed)
        if len(waiting) == 1 and self.fed >= self._prompt_tokens:
            steps += engine.standing(state)
            return engine.programs.step(self._choice)
        more, rows = engine.feeding(len(waiting), state)
        steps += more
        return engine.programs.after(rows, self._choice)

    def _made_room(self) -> Steps:
        """Where the host chooses, it rolls the window too: steps that write the table, once a page was dropped."""
        state = self._state
        if not state.sinks or len(self.ids) - state.evicted <= state.capacity:
            return []
        state.evicted += PAGE_TOKENS
        self._ledger.roll(state.evicted)
        return self._engine.tabling(self._ledger)

    async def _chosen(self) -> int:
        """The id that the GPU chose, and what it did to the window."""
        engine, state = self._engine, self._state
        history, at = engine.cache.history, len(self.ids) % engine.cache.capacity
        found = np.zeros(1, np.int32)
        await engine.device.bridge.read_into(history.handle, history.offset + 4 * at, found.view(np.uint8))
        if self._choice is not None and self._choice.logprobs:
            ring = engine.programs.tables.logprobs(self._choice.logprobs)
            row = np.zeros((1, ring.shape[1]), np.float32)
            offset = ring.offset + at * row.nbytes
            await engine.device.bridge.read_into(ring.handle, offset, row.reshape(-1).view(np.uint8))
            self.rows = row
        if state.sinks and len(self.ids) - state.evicted >= state.capacity:
            state.evicted = int((await engine.cache.state.numpy())[EVICTED])
        return int(found[0])


def _write(table: Any, values: NDArray[Any]) -> list[Any]:
    return ["write", table.handle, table.offset, values.view(np.uint8)]
