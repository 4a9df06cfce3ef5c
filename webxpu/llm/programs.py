"""What an engine replays: programs, recorded when something first needs them, compiled once and kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from webxpu.gpu.device import Device
from webxpu.gpu.program import Program
from webxpu.llm import head
from webxpu.llm.batch import Lane
from webxpu.llm.batch import step as step_together
from webxpu.llm.cache import Cache
from webxpu.llm.config import Config
from webxpu.llm.head import Choice
from webxpu.llm.lookup import speculative_step
from webxpu.llm.tables import Tables

# What every chat needs and is compiled while a model loads.
CHAT_CHOICES = (Choice(greedy=True), Choice(greedy=False))


@dataclass(frozen=True)
class Recorded:
    """A program, and what the function that it was recorded from returned: other programs may read it."""

    program: Program
    output: Callable[[], Any]


# Makes a program of a function that calls ops: the label and the function.
Recorder = Callable[[str, Callable[[], Any]], Recorded]


def recorder(device: Device) -> Recorder:
    """Records on a device."""

    def record(label: str, body: Callable[[], Any]) -> Recorded:
        with device.record(label) as program:
            made = body()
        return Recorded(program, lambda: made)

    return record


class Programs:
    """The programs of one model on one cache. None depends on a prompt's length.

    sizes   rows of the prefill programs, largest first
    parts   ways in which decode attention splits its keys
    empty   makes the tables of zeros that choosing a token may need
    """

    def __init__(
        self,
        record: Recorder,
        architecture: Any,
        config: Config,
        weights: Mapping[str, Any],
        cache: Cache,
        *,
        sizes: Sequence[int],
        parts: int,
        empty: Callable[[tuple[int, ...], str], Any],
    ) -> None:
        self.tables = Tables(config.vocab, cache.capacity, empty)
        self.sizes = tuple(sizes)
        self._record = record
        self._architecture = architecture
        self._config = config
        self._weights = weights
        self._cache = cache
        self._parts = parts
        self._made: dict[tuple[Any, ...], Recorded] = {}

    def prefill(self, rows: int) -> Program:
        """Feeds `rows` tokens, many at once."""
        return self._prefill(rows).program

    def choose(self, rows: int, choice: Choice) -> Program:
        """Chooses the id after the last valid row of such a prefill."""
        return self._after(rows, f"{choice} after {rows}", choice, self._chosen(choice))

    def logits(self, rows: int) -> Program:
        """The scores of the token after row `state.rows - 1` of such a prefill: `output_of` has them."""
        return self._after(rows, f"logits after {rows}", "logits", self._logits)

    def decode(self, choice: Choice) -> Program:
        """One step: feeds the last id and chooses the next one."""
        chosen = self._chosen(choice)
        return self._get(("decode", choice), f"decode {choice}", lambda: chosen(self._decoded(1))).program

    def decode_logits(self) -> Program:
        """One step of a choice that the host makes: feeds the last id; `output_of` has the scores."""
        return self._get(("decode", "logits"), "decode logits", lambda: self._logits(self._decoded(1))).program

    def verify(self) -> Program:
        """A greedy step that drafts tokens and keeps those that it would have chosen."""
        return self._get(
            ("verify",),
            "verify",
            lambda: speculative_step(self._architecture, self._config, self._weights, self._cache, self._parts),
        ).program

    def step(self, choice: Choice | None) -> Program:
        """One step of a choice, or of one that the host makes."""
        return self.decode_logits() if choice is None else self.decode(choice)

    def after(self, rows: int, choice: Choice | None) -> Program:
        """The end of a prefill for a choice, or for one that the host makes."""
        return self.logits(rows) if choice is None else self.choose(rows, choice)

    def together(self, lanes: Sequence[Lane], choice: Choice) -> Program:
        """One step of several sequences. For each number of them there is one set of lanes."""
        body = partial(step_together, self._config, self._weights, lanes, choice, parts=self._parts, tables=self.tables)
        return self._get(("together", len(lanes), choice), f"{choice} of {len(lanes)} together", body).program

    def output_of(self, program: Program) -> Any:
        """What the function behind a program returned."""
        return next(made.output() for made in self._made.values() if made.program is program)

    def all(self) -> list[Program]:
        return [made.program for made in self._made.values()]

    def needed(self, choice: Choice | None) -> list[Program]:
        """All that a generation of any length may run, whose ids are chosen so, or by the host."""
        return [*(self.after(rows, choice) for rows in self.sizes), self.step(choice)]

    async def compile(self, wanted: Iterable[Program]) -> None:
        """Compiles them in parallel, where they are not yet; what reads another program's output comes second."""
        sources = [self.prefill(rows) for rows in self.sizes]
        for wave in (sources, list(wanted)):
            waiting = [program.compile() for program in wave if not program.compiled]
            if waiting:
                await together(*waiting)

    def _prefill(self, rows: int) -> Recorded:
        return self._get(
            ("prefill", rows),
            f"prefill of {rows}",
            lambda: self._architecture.forward(self._config, self._weights, self._cache, rows=rows, parts=1),
        )

    def _decoded(self, rows: int) -> Any:
        return self._architecture.forward(self._config, self._weights, self._cache, rows=rows, parts=self._parts)

    def _chosen(self, choice: Choice) -> Callable[[Any], None]:
        return lambda x: head.choose(self._config, self._weights, self._cache, x, **vars(choice), tables=self.tables)

    def _logits(self, x: Any) -> Any:
        return head.logits(self._config, self._weights, self._cache, x)

    def _after(self, rows: int, label: str, kind: Any, end: Callable[[Any], Any]) -> Program:
        fed = self._prefill(rows)
        return self._get(("after", rows, kind), label, lambda: end(fed.output())).program

    def _get(self, key: tuple[Any, ...], label: str, body: Callable[[], Any]) -> Recorded:
        if key not in self._made:
            self._made[key] = self._record(label, body)
        return self._made[key]


async def together(*work: Coroutine[Any, Any, Any]) -> None:
    """Runs coroutines side by side. Where one fails, the others still end before its error is raised."""
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
