"""What a generation was asked for: options, checked before anything runs, and what of them goes to the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from webxpu.errors import ShapeError
from webxpu.llm.constraints import Constraint
from webxpu.llm.engine import Engine, Steps
from webxpu.llm.head import Choice
from webxpu.llm.ids import checked_stops
from webxpu.llm.lookup import DRAFTS, NGRAM, PromptLookup, check_lookup
from webxpu.llm.sampler import Sampling, check_whole
from webxpu.llm.state import State
from webxpu.llm.stepped import Picks
from webxpu.ops.logprobs import MAX_MOST


class Request:
    """Options of a generation in an engine.

    choice    how the GPU chooses ids; None where the host does
    stepped   Python has something to say before each token
    lookup    runs begin with drafts from the ids so far; `auto` where they stay only if they help

    Raises ShapeError, naming the option.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        sampling: Sampling,
        stop_ids: Sequence[int] = (),
        logprobs: int = 0,
        constraint: Constraint | None = None,
        sampler: Picks | None = None,
        prompt_lookup: PromptLookup = False,
        timestamps: bool = False,
        call: str = "generate",
    ) -> None:
        config = engine.config
        self.sampling = sampling
        self.constraint = constraint
        self.sampler = sampler
        self.timestamps = timestamps
        self.stop_ids = checked_stops(stop_ids, call)
        check_whole("generate", "logprobs", logprobs, 0, min(MAX_MOST, config.vocab))
        for name, given, method in (("constraint", constraint, "allowed"), ("sampler", sampler, "pick")):
            if given is not None and not callable(getattr(given, method, None)):
                raise ShapeError(f"generate: {name} must have a method {method!r}, got {given!r}")
        if sampler is not None and logprobs:
            raise ShapeError("generate: logprobs must be 0 with a sampler, which sees all scores itself")
        self.choice = None if sampler is not None else Choice(
            greedy=sampling.greedy,
            penalized=sampling.penalized,
            dry=sampling.dry is not None,
            masked=constraint is not None,
            logprobs=logprobs,
        )  # fmt: skip
        self.stepped = self.choice is None or self.choice.masked or self.choice.dry
        self.auto = prompt_lookup == "auto"
        self.lookup = check_lookup(prompt_lookup, self._against_lookup(engine)) and (
            engine.tries_lookup or not self.auto
        )
        self._biases = sampling.bias_table(config.vocab)

    def seed(self) -> int:
        """The seed, or a fresh one; 0 where nothing is drawn."""
        return 0 if self.sampling.greedy else self.sampling.resolved_seed()

    def state(self, engine: Engine, made: int, seed: int) -> State:
        """The state after so many tokens, but for position and rows."""
        cache = engine.cache
        state = State(step=made, capacity=cache.capacity, sinks=cache.sinks, stops=self.stop_ids)
        self.sampling.fill(state)
        state.seed = seed
        if self.lookup:
            state.ngram, state.drafts = NGRAM, DRAFTS
        return state

    def biasing(self, engine: Engine) -> Steps:
        """Steps that upload the biases."""
        if self.choice is None or not self.sampling.logit_bias:
            return []
        tables = engine.programs.tables
        pairs: list[tuple[Any, Any]] = list(zip((tables.bias_ids, tables.bias_values), self._biases, strict=True))
        return [["write", table.handle, table.offset, array.view(np.uint8)] for table, array in pairs]

    def _against_lookup(self, engine: Engine) -> str | None:
        """What rules out prompt lookup: it verifies greedy choices, and needs the whole history."""
        reasons = [
            ("a temperature", not self.sampling.greedy),
            ("a sampler", self.sampler is not None),
            ("a constraint", self.constraint is not None),
            ("penalties", self.choice is not None and (self.choice.penalized or self.choice.dry)),
            ("logprobs", self.choice is not None and self.choice.logprobs > 0),
            ("a window that rolls", engine.cache.sinks > 0),
        ]
        return next((what for what, given in reasons if given), None)
