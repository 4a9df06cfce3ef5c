"""A model on a device: the steps that place a sequence there and feed it, and whose turn it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from webxpu.gpu.device import Device
from webxpu.llm.batch import Lane
from webxpu.llm.cache import Cache
from webxpu.llm.chunks import plan_chunks
from webxpu.llm.config import Config
from webxpu.llm.ledger import Ledger
from webxpu.llm.pages import PagePool
from webxpu.llm.programs import Programs
from webxpu.llm.state import State

if TYPE_CHECKING:
    from webxpu.llm.generate import Generation

# What `Device.submit` takes.
Steps = list[list[Any]]


class Engine:
    """A model on a device. Its sequences share the pages of the cache and take turns.

    identity      a hash of the model, which snapshots name
    tries_lookup  whether prompt lookup in "auto" tries itself out: not on a CPU, where each row of a run costs a step
    turn          held while somebody places a sequence on the GPU
    active        the generation whose sequence is there and whose loop runs
    lanes         where sequences lie that are decoded together, by their number
    """

    def __init__(
        self,
        config: Config,
        device: Device,
        cache: Cache,
        programs: Programs,
        *,
        identity: str = "",
        tries_lookup: bool = True,
    ) -> None:
        self.identity = identity
        self.tries_lookup = tries_lookup
        self.config = config
        self.device = device
        self.cache = cache
        self.programs = programs
        self.pool = PagePool(int(cache.layers[0].shape[0]))
        self.turn = asyncio.Lock()
        self.active: Generation | None = None
        self.lanes: dict[int, list[Lane]] = {}
        self._spare: list[Any] = []

    def ledger(self) -> Ledger:
        """The record of a new sequence."""
        return Ledger(self.pool, self.cache.capacity, self.cache.sinks)

    async def quiet(self) -> None:
        """Pauses what runs. Called by whoever holds the turn."""
        if self.active is not None:
            await self.active.pause()

    def placing(self, ledger: Ledger, ids: Sequence[int]) -> Steps:
        """Steps that make a sequence the one that runs: its pages, and its ids as far back as the history goes."""
        kept = min(len(ids), self.cache.capacity)
        history = self.remembering(ids[len(ids) - kept :], len(ids) - kept)
        return [*self._copying(ledger), *self.tabling(ledger), *history]

    def tabling(self, ledger: Ledger) -> Steps:
        """Steps that write the page table. Entries that no position needs repeat the last page."""
        pages = self.cache.pages
        table = np.full(pages.shape[0], ledger.table[-1], np.int32)
        table[: len(ledger.table)] = ledger.table
        return [["write", pages.handle, pages.offset, table.view(np.uint8)]]

    def remembering(self, ids: Sequence[int], first: int) -> Steps:
        """Steps that write ids into the history, which is a ring: the first one is that number of its sequence."""
        history, capacity = self.cache.history, self.cache.capacity
        data, at = np.asarray(ids, np.int32), first % capacity
        ahead, rest = data[: capacity - at], data[capacity - at :]
        steps = [["write", history.handle, history.offset + 4 * at, ahead.view(np.uint8)]] if len(ahead) else []
        return steps + ([["write", history.handle, history.offset, rest.view(np.uint8)]] if len(rest) else [])

    def standing(self, state: State) -> Steps:
        """Steps that write the state."""
        words = self.cache.state
        return [["write", words.handle, words.offset, state.to_words().view(np.uint8)]]

    def feeding(self, count: int, state: State) -> tuple[Steps, int]:
        """Steps that feed the `count` ids of the history from `state.position` on, and the rows of the last program.
        The state is that of its last chunk then."""
        steps: Steps = []
        chunks = plan_chunks(state.position, count, self.programs.sizes)
        for chunk in chunks:
            state.position, state.rows = chunk.start, chunk.rows
            steps += self.standing(state)
            steps.append(["run", self.programs.prefill(chunk.size).handle])
        return steps, chunks[-1].size

    def _copying(self, ledger: Ledger) -> Steps:
        """Steps that give a sequence its own copies of pages that others go on to share."""
        steps: Steps = []
        copies, ledger.copies = ledger.copies, []
        for layer in self.cache.layers if copies else []:
            size = layer.nbytes // layer.shape[0]
            spare = self.device.empty((size // 4,), "uint32")  # one buffer can't be both ends of a copy
            for source, target in copies:
                start, end = layer.offset + source * size, layer.offset + target * size
                steps.append(["copy", layer.handle, start, spare.handle, 0, size])
                steps.append(["copy", spare.handle, 0, layer.handle, end, size])
            self._spare.append(spare)
        return steps

    def submit(self, steps: Steps) -> None:
        """Sends steps in one bridge call."""
        self.device.submit(steps)
        while self._spare:
            self._spare.pop().free()
