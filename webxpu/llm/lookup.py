"""Prompt lookup: what followed the last tokens when they came before is drafted and verified, several tokens a run.

The output is that of plain decoding, bit for bit: a draft stays only where the model would have chosen it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.llm.cache import Cache
from webxpu.llm.config import Config
from webxpu.ops._rows import DECODE_ROWS
from webxpu.ops.draft import drafts_after

PromptLookup = bool | Literal["auto"]

# The longest run of tokens that is looked for.
NGRAM = 3
# Tokens drafted for a run: the last known token and they are its rows.
DRAFTS = DECODE_ROWS - 1
# "auto" looks at its first so many tokens, and goes on only where a run gave so many of them.
PROBATION_TOKENS = 24
MIN_TOKENS_PER_RUN = 2.0


def speculative_step(architecture: Any, config: Config, w: Mapping[str, Any], cache: Cache, parts: int) -> None:
    """A run that drafts, feeds the last token and the drafts as rows, and keeps what greedy decoding would have chosen.

    Each row has the bits of a decode program with as many `parts`. The window must not roll.
    """
    ops.draft(cache.history, cache.state)
    x = architecture.forward(config, w, cache, rows=DECODE_ROWS, parts=parts)  # (L,K)
    values, ids = ops.norm_head_rows_argmax(w["head"], x, w["head_gain"], cache.state, eps=config.rms_eps)
    ops.accept(values, ids, cache.history, cache.state)


@dataclass
class Speculation:
    """What prompt lookup did for the tokens that were kept.

    steps         runs
    drafted       tokens that they verified
    accepted      of those, tokens that stayed
    switched_off  "auto" went on without it, since runs gave too few tokens
    """

    steps: int = 0
    drafted: int = 0
    accepted: int = 0
    switched_off: bool = False

    def count(self, known: Sequence[int], ids: Sequence[int], capacity: int) -> None:
        """Counts the runs that made `ids` after the `known` ones. Drafts depend on nothing else, so they need not be
        read back."""
        history = np.array([*known, *ids], np.int32)
        at = len(known)
        while at < len(history):
            drafts = drafts_after(history[:at], NGRAM, min(DRAFTS, capacity - at))
            held = 0
            while held < len(drafts) and at + held < len(history) and drafts[held] == history[at + held]:
                held += 1
            self.steps += 1
            self.drafted += len(drafts)
            self.accepted += held
            at += held + 1


def holds(tokens: int, runs: int) -> bool:
    """Whether runs gave enough tokens to go on with prompt lookup."""
    return runs > 0 and tokens / runs >= MIN_TOKENS_PER_RUN


def check_lookup(wanted: PromptLookup, against: str | None) -> bool:
    """Whether a generation begins with prompt lookup.

    against   what of the generation rules it out, such as "a temperature"; None where nothing does

    Raises ShapeError for a value that is none, and for True where something rules it out.
    """
    if not isinstance(wanted, bool) and wanted != "auto":
        raise ShapeError(f"generate: prompt_lookup must be False, True or 'auto', got {wanted!r}")
    if against is not None and wanted is True:
        raise ShapeError(f"generate: prompt_lookup must be False or 'auto' with {against}, got True")
    return bool(wanted) and against is None


class LookupRun:
    """A loop of runs that verify drafts; in "auto", one that goes over to plain steps where few drafts hold.

    ids          those that it brought
    speculation  what is counted into, also of earlier loops of the same generation
    known        the ids before the loop's first
    ready        of the ids that the loop brings, how many are a prompt's own choice
    verifying    makes the loop with drafts
    plain        (number of ids so far) makes the loop without, after writing the state that it begins with
    """

    def __init__(
        self,
        speculation: Speculation,
        known: Sequence[int],
        capacity: int,
        *,
        ready: int,
        auto: bool,
        verifying: Callable[[], Any],
        plain: Callable[[int], Any],
    ) -> None:
        self.speculation = speculation
        self.rows: Any = None
        self._known = list(known)
        self._capacity = capacity
        self._ready = ready
        # The trial is the first loop's; a loop after a pause goes on with what it decided.
        self._on_trial = auto and not speculation.steps
        self._plain = plain
        self.ids: list[int] = []
        self._counted = self._aborted = False
        self._gpu_ms: list[float] = []
        self._loop = verifying()

    @property
    def reason(self) -> str | None:
        reason: str | None = self._loop.reason
        return reason or ("abort" if self._aborted else None)

    async def next(self) -> list[int]:
        """The ids that are there, as the loops' own `next`."""
        ids: list[int] = await self._loop.next()
        self.ids += ids
        if self._on_trial and self.reason is None and len(self.ids) >= PROBATION_TOKENS:
            self._on_trial = False
            trial = Speculation()
            self._count(trial)
            if not holds(trial.steps + trial.accepted, trial.steps):
                await self._switch_off()
        return ids

    def abort(self) -> None:
        if self.reason is None:
            self._aborted = True
            self._loop.abort()

    async def close(self) -> dict[str, Any]:
        """Closes the loop that runs; {gpuMs} of all of them."""
        if not self._counted:
            self._counted = True
            self._count(self.speculation)
        return await self._closed()

    async def _switch_off(self) -> None:
        self._count(self.speculation)
        self._counted = True
        self.speculation.switched_off = True
        self._loop.abort()
        await self._closed()
        if not self._aborted:  # while it waited
            self._loop = self._plain(len(self.ids))

    async def _closed(self) -> dict[str, Any]:
        report = await self._loop.close()
        if report.get("gpuMs") is not None:
            self._gpu_ms.append(report["gpuMs"])
        return {"gpuMs": sum(self._gpu_ms) if self._gpu_ms else None}

    def _count(self, into: Speculation) -> None:
        first = min(self._ready, len(self.ids))
        into.count([*self._known, *self.ids[:first]], self.ids[first:], self._capacity)
