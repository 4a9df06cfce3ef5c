"""One conversation with a model: its part of the cache, and all that can be asked of it."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from collections.abc import Sequence as Ids
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import ShapeError
from webxpu.llm import snapshot
from webxpu.llm.constraints import Constraint
from webxpu.llm.dry import Dry
from webxpu.llm.engine import Engine
from webxpu.llm.generate import Generation
from webxpu.llm.ids import checked_ids
from webxpu.llm.lookup import PromptLookup
from webxpu.llm.sampler import Sampling
from webxpu.llm.state import State
from webxpu.llm.stepped import Picks

# Rows of logits that are read back at once.
LOGIT_ROWS = 16


class Sequence:
    """A conversation in an engine. The first one is the model itself; others come from `model.sequence()`.

    `generate` gives ids, `forward` scores; `prefill` feeds a prompt ahead; `save`, `restore` and `reset` keep the
    conversation, bring it back and forget it.

    engine    what it shares with the others
    ledger    which ids the cache holds of it
    running   its generation, if one is under way
    """

    def __init__(self, engine: Engine, *, stop_ids: Ids[int] = (), load_ms: float = 0.0) -> None:
        self.engine = engine
        self.ledger = engine.ledger()
        self.running: Generation | None = None
        self.load_ms = load_ms
        self._stop_ids = stop_ids

    def generate(
        self,
        ids: Ids[int],
        *,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        seed: int | None = None,
        top_n_sigma: float = 0.0,
        repetition_penalty: float = 1.0,
        presence_penalty: float = 0.0,
        frequency_penalty: float = 0.0,
        no_repeat_ngram_size: int = 0,
        logit_bias: Mapping[int, float] | None = None,
        dry: Dry | None = None,
        stop_ids: Ids[int] | None = None,
        logprobs: int = 0,
        constraint: Constraint | None = None,
        sampler: Picks | None = None,
        prompt_lookup: PromptLookup = False,
        timestamps: bool = False,
    ) -> Generation:
        """The ids that follow `ids`: `async for some in model.generate(...)`. What the cache holds is not fed again.

        ids                   the prompt, at least one id
        max_tokens            None runs until a stop id or the end of the context
        temperature           0 takes the most likely id; above 0 one is drawn from softmax(logits / temperature)
        top_k                 keep the k most likely ids; 0 keeps all
        top_p                 keep the fewest ids whose probabilities add up to this; 1 keeps all
        min_p                 keep ids at least this fraction as likely as the most likely one; 0 keeps all
        seed                  the same seed, prompt and options give the same ids; None draws a fresh one
        top_n_sigma           keep ids whose logit is within so many standard deviations of the highest; 0 keeps all
        repetition_penalty    of ids that came, positive logits are divided by this, negative ones multiplied; 1 is off
        presence_penalty      subtracted from the logits of ids that came; 0 is off
        frequency_penalty     subtracted once for each time that an id came; 0 is off
        no_repeat_ngram_size  no run of so many ids comes twice; 0 is off
        logit_bias            id -> what is added to its logit; -inf bans it
        dry                   a `webxpu.Dry`: a penalty on ids that continue a repetition
        stop_ids              at most 16; None takes the model's own; a stop id is never among the ids that come
        logprobs              so many of the highest log-probabilities of each id come beside its own; 0 gives none
        constraint            says before each id which may follow, see `webxpu.llm.constraints`
        sampler               chooses each id on the host, from all scores, such as `webxpu.HostSampler`; the sampling
                              options do not apply then
        prompt_lookup         draft what followed the last ids when they came before: the ids stay the same, and come
                              faster where the reply repeats its prompt; "auto" goes on only where it helps, never on a
                              CPU. True needs temperature 0, and neither penalties nor constraint, logprobs or a rolling
                              window
        timestamps            measure the GPU's own time too, where the device can

        `webxpu.Sampling` says in which order they apply. Raises ShapeError at once for a wrong one, and ContextOverflow
        where the prompt leaves no room for a reply.
        """
        return Generation(
            self,
            ids,
            sampling=Sampling(
                temperature=temperature,
                top_k=top_k,
                top_p=top_p,
                min_p=min_p,
                seed=seed,
                top_n_sigma=top_n_sigma,
                repetition_penalty=repetition_penalty,
                presence_penalty=presence_penalty,
                frequency_penalty=frequency_penalty,
                no_repeat_ngram_size=no_repeat_ngram_size,
                logit_bias=logit_bias or {},
                dry=dry,
            ),
            max_tokens=max_tokens,
            stop_ids=self._stop_ids if stop_ids is None else stop_ids,
            logprobs=logprobs,
            constraint=constraint,
            sampler=sampler,
            prompt_lookup=prompt_lookup,
            timestamps=timestamps,
            load_ms=self.load_ms,
        )

    async def prefill(self, ids: Ids[int]) -> int:
        """Feeds ids and chooses nothing, so that a prompt that begins with them starts sooner. Returns how many ran.
        Raises ShapeError and ContextOverflow."""
        prompt = checked_ids(ids, self.engine.config.vocab, "prefill")
        fed: int = await self._alone(prompt, self._feed(prompt))
        return fed

    async def forward(self, ids: Ids[int], rows: str = "last") -> NDArray[np.float32]:
        """The scores of the token after `ids`, (V,) float32; with rows="all" of the token after each of them,
        (len(ids), V). Raises ShapeError and ContextOverflow."""
        if rows not in ("last", "all"):
            raise ShapeError(f"forward: rows must be 'last' or 'all', got {rows!r}")
        prompt = checked_ids(ids, self.engine.config.vocab, "forward")
        programs = self.engine.programs
        await programs.compile([programs.logits(size) for size in programs.sizes])
        found: NDArray[np.float32] = await self._alone(
            prompt, self._all_rows(prompt) if rows == "all" else self._last_row(prompt)
        )
        return found

    async def save(self) -> bytes:
        """The conversation as bytes: its ids and what the cache holds of it. A generation that runs goes on."""
        async with self.engine.turn:
            await self.engine.quiet()
            return await snapshot.save(self.engine, self.ledger)

    async def restore(self, saved: bytes) -> None:
        """Puts back what `save` gave, also in another engine of the same model, bit for bit.

        Raises ShapeError for what are no bytes, FormatError for bytes of something else or that were changed,
        Unsupported for those of another model, version, kind of cache or window, ContextOverflow where they do not fit;
        nothing has changed then.
        """
        found = snapshot.parse(saved)
        snapshot.check(found, self.engine)
        async with self.engine.turn:
            if self.running is not None:
                await self.running.stop()
            await self.engine.quiet()
            await snapshot.restore(found, self.engine, self.ledger)

    def abort(self) -> None:
        """Ends the generation that runs, if one does, as its own `abort()`: ids that are here stay."""
        if self.running is not None:
            self.running.abort()

    async def reset(self) -> None:
        """Ends what runs and forgets the conversation: the next prompt is fed from its first token."""
        async with self.engine.turn:
            if self.running is not None:
                await self.running.stop()
            self.ledger.clear()

    async def _alone(self, prompt: list[int], work: Coroutine[Any, Any, Any]) -> Any:
        """Awaits work that places a prompt on the GPU and feeds it, while nothing else runs there."""
        try:
            async with self.engine.turn:
                self.ledger.check(prompt)
                if self.running is not None:
                    await self.running.stop()
                await self.engine.quiet()
                try:
                    done = await work
                except BaseException:
                    self.ledger.clear()  # nobody knows what the cache holds
                    raise
                self.ledger.commit(prompt)
                return done
        finally:
            work.close()

    def _begun(self, prompt: list[int], *, reuse: bool = True) -> State:
        """Makes room for a prompt; the state at its first id that has to run."""
        kept = self.ledger.begin(prompt, 0, reuse=reuse)
        return State(
            position=kept - self.ledger.evicted,
            evicted=self.ledger.evicted,
            capacity=self.engine.cache.capacity,
            sinks=self.engine.cache.sinks,
        )

    async def _feed(self, prompt: list[int]) -> int:
        engine, state = self.engine, self._begun(prompt)
        count = len(prompt) - state.position - state.evicted
        engine.submit([*engine.placing(self.ledger, prompt), *engine.feeding(count, state)[0]])
        await engine.device.sync()
        return count

    async def _last_row(self, prompt: list[int]) -> NDArray[np.float32]:
        engine, state = self.engine, self._begun(prompt)
        steps = engine.placing(self.ledger, prompt)
        fed, size = engine.feeding(len(prompt) - state.position - state.evicted, state)
        last = engine.programs.logits(size)
        engine.submit([*steps, *fed, ["run", last.handle]])
        return np.array(await engine.programs.output_of(last).numpy())

    async def _all_rows(self, prompt: list[int]) -> NDArray[np.float32]:
        """Chunk by chunk: the head runs for each row, and its scores are gathered in a buffer that is read back."""
        engine, state = self.engine, self._begun(prompt, reuse=False)
        engine.submit(engine.placing(self.ledger, prompt))
        vocab = engine.config.vocab
        gathered = engine.device.empty((LOGIT_ROWS, vocab), "float32")
        found: list[Any] = []
        try:
            for start in range(0, len(prompt), LOGIT_ROWS):
                count = min(LOGIT_ROWS, len(prompt) - start)
                state.position = start
                steps, size = engine.feeding(count, state)
                program = engine.programs.logits(size)
                one = engine.programs.output_of(program)
                for row in range(count):
                    state.position, state.rows = start, row + 1
                    steps += [*engine.standing(state), ["run", program.handle]]
                    steps.append(["copy", one.handle, one.offset, gathered.handle, 4 * vocab * row, 4 * vocab])
                engine.submit(steps)
                found.append(np.array((await gathered.numpy())[:count]))
        finally:
            gathered.free()
        return np.concatenate(found)
