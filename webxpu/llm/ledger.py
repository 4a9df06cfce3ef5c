"""The host's record of one sequence: which ids its pages hold, at which position, and what of a prompt has to run."""

from __future__ import annotations

from collections.abc import Sequence

from webxpu.errors import ContextOverflow
from webxpu.llm.pages import PagePool, page_keys
from webxpu.ops.cache import PAGE_TOKENS


class Ledger:
    """Which ids the cache holds for certain, and where.

    ids       the sequence so far. The cache holds the first `sinks` of them and those from `evicted + sinks` on; id i
              of the latter lies at cache position i - evicted
    evicted   tokens that the rolling window has dropped
    table     the pages, by cache position
    copies    pages (from, to) that have to be copied before anything runs
    sinks     tokens that a rolling window never drops, whole pages; 0 where the window does not roll
    """

    def __init__(self, pool: PagePool, capacity: int, sinks: int = 0) -> None:
        self.pool = pool
        self.capacity = capacity
        self.sinks = sinks
        self.ids: list[int] = []
        self.evicted = 0
        self.table: list[int] = []
        self.copies: list[tuple[int, int]] = []

    def __del__(self) -> None:
        self.clear()

    def reusable(self, prompt: Sequence[int]) -> tuple[int, int]:
        """How many leading tokens of a prompt need no work, and how many are evicted then. Never the whole prompt,
        since its last token has to run to give the next one."""
        most = min(len(self.ids), len(prompt) - 1)
        same = self.ids[:most] == list(prompt[:most])
        common = most if same else next(i for i in range(most) if self.ids[i] != prompt[i])
        if self.evicted and common < self.evicted + self.sinks:
            return min(common, self.sinks), 0  # what the prompt shares with what lies past the sinks was dropped
        return common, self.evicted

    def check(self, prompt: Sequence[int]) -> None:
        """Raises ContextOverflow where a prompt leaves no room for an id after it, even once the window rolled."""
        self._fitted(prompt, *self.reusable(prompt))

    def begin(self, prompt: Sequence[int], new_tokens: int, *, reuse: bool = True) -> int:
        """Makes room for a prompt and the tokens after it; returns how many of its first tokens need no work.

        Until `commit` only those are certain. Raises ContextOverflow before anything changes.
        """
        kept, evicted = self.reusable(prompt) if reuse else (0, 0)
        dropped = self._fitted(prompt, kept, evicted) - evicted
        shared = self._shared(prompt) if reuse and not evicted and not dropped else []
        if len(shared) * PAGE_TOKENS > kept:
            self.pool.hold(shared)
            self.pool.release(self.table)
            self.table, kept = shared, len(shared) * PAGE_TOKENS
        self._truncate(kept - evicted)
        self.ids, self.evicted = list(prompt[:kept]), evicted
        if dropped:
            self._drop(dropped)
        last = len(prompt) - self.evicted + new_tokens
        rolls = self.sinks > 0 and last > self.capacity
        self._make_own((self.sinks if rolls else kept - self.evicted) // PAGE_TOKENS)
        pages = -(-min(last, self.capacity) // PAGE_TOKENS)
        self.table += self.pool.take(max(0, pages - len(self.table)), self)
        return kept

    def commit(self, ids: Sequence[int], evicted: int | None = None) -> None:
        """These ids are in the cache, after a window that has dropped `evicted` in all: as many as before if not said.
        Full pages of a sequence that never rolled can be shared from now on."""
        if evicted is not None:
            self.roll(evicted)
            # What ran past the ids that are kept may have dropped more than these reach back to.
            self.evicted = min(evicted, max(len(ids) - self.sinks, 0))
        self.ids = list(ids)
        pages = -(-(len(self.ids) - self.evicted) // PAGE_TOKENS)
        self.pool.release(self.table[pages:])
        del self.table[pages:]
        if not self.evicted:
            for page, key in zip(self.table, page_keys(self.ids), strict=False):
                self.pool.keep(page, key)

    def adopt(self, ids: Sequence[int], evicted: int) -> None:
        """Takes pages for ids that will be put there; they are certain once committed."""
        self.clear()
        self.table = self.pool.take(-(-(len(ids) - evicted) // PAGE_TOKENS), self)
        self.evicted = evicted

    def roll(self, evicted: int) -> None:
        """The window has dropped pages behind its sinks until that many tokens were dropped in all: they are the last
        ones of the table now."""
        first = self.sinks // PAGE_TOKENS
        for _ in range((evicted - self.evicted) // PAGE_TOKENS):
            self.table.append(self.table.pop(first))
        self.evicted = evicted

    def clear(self) -> None:
        """Forgets the sequence and lets go of its pages."""
        self.pool.release(self.table)
        self.ids, self.evicted, self.table, self.copies = [], 0, [], []

    def _fitted(self, prompt: Sequence[int], kept: int, evicted: int) -> int:
        """Tokens that must be dropped in all so that a prompt and one more id fit: as few pages as will do, and where
        whole pages do not, all that lies past the sinks."""
        over = len(prompt) - evicted + 1 - self.capacity
        if over <= 0:
            return evicted
        droppable = max(0, kept - evicted - self.sinks) if self.sinks else 0
        pages = -(-over // PAGE_TOKENS) * PAGE_TOKENS
        if over > droppable:
            raise ContextOverflow(len(prompt), self.capacity)
        return evicted + min(pages, droppable)

    def _shared(self, prompt: Sequence[int]) -> list[int]:
        """Pages that hold the beginning of a prompt. Its last token runs, so that token's page can't be one."""
        found = self.pool.find(page_keys(prompt))
        return found[: (len(prompt) - 1) // PAGE_TOKENS]

    def _truncate(self, position: int) -> None:
        """Lets go of the pages from a position on."""
        pages = -(-position // PAGE_TOKENS)
        self.pool.release(self.table[pages:])
        del self.table[pages:]

    def _drop(self, tokens: int) -> None:
        """Drops tokens behind the sinks before a prompt is fed: whole pages, or all of them."""
        first = self.sinks // PAGE_TOKENS
        pages = -(-tokens // PAGE_TOKENS)
        self.pool.release(self.table[first : first + pages])
        del self.table[first : first + pages]
        self.evicted += tokens

    def _make_own(self, first: int) -> None:
        """The pages from the table's entry `first` on will be overwritten: none of them may be another's."""
        for entry in range(first, len(self.table)):
            page = self.table[entry]
            if self.pool.holds(page) > 1:
                self.pool.make_room(1, self)  # where that takes all from the others, the page is our own
            if self.pool.holds(page) > 1:
                self.table[entry : entry + 1] = self.pool.take(1, self)
                self.copies.append((page, self.table[entry]))
                self.pool.release([page])
            else:
                self.pool.forget(page)
