"""Pages of the key/value pool: which are free, who holds them, and what full ones hold, so that prompts can share."""

from __future__ import annotations

import hashlib
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from webxpu.ops.cache import PAGE_TOKENS


class Holder(Protocol):
    """Who holds pages and can be asked to let go of them."""

    table: list[int]

    def clear(self) -> None: ...


def page_keys(ids: Sequence[int]) -> Iterator[bytes]:
    """A key for each full page of ids: equal where the page and every page before it hold the same ids."""
    key = b""
    for start in range(0, len(ids) - PAGE_TOKENS + 1, PAGE_TOKENS):
        page = np.asarray(ids[start : start + PAGE_TOKENS], "<i4").tobytes()
        key = hashlib.blake2b(key + page, digest_size=16).digest()
        yield key


class PagePool:
    """`pages` pages, each free, held by one or more sequences, or kept for a prompt that begins like it.

    A page that nobody holds any more keeps its key; such pages are given away only when none is free, the least
    recently used first. Where even that is too little, the holder that was used least recently loses all of its own.
    """

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self._free = list(range(pages - 1, -1, -1))
        self._holds = [0] * pages
        self._by_key: dict[bytes, int] = {}
        self._key_of: dict[int, bytes] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()
        self._holders: list[weakref.ref[Holder]] = []

    @property
    def free(self) -> int:
        """Pages that hold nothing worth keeping."""
        return len(self._free)

    @property
    def kept(self) -> int:
        """Pages that nobody holds, kept for prompts to come."""
        return len(self._idle)

    @property
    def held(self) -> int:
        return self.pages - self.free - self.kept

    def holds(self, page: int) -> int:
        """How many sequences hold a page."""
        return self._holds[page]

    def take(self, count: int, holder: Holder) -> list[int]:
        """`count` pages for a holder, which is the most recently used one from now on."""
        self._touch(holder)
        self.make_room(count, holder)
        assert self.free + self.kept >= count, f"{count} pages were asked for of {self.pages}"
        taken = []
        for _ in range(count):
            if self._free:
                page = self._free.pop()
            else:
                page, _ = self._idle.popitem(last=False)
                self.forget(page)
            self._holds[page] = 1
            taken.append(page)
        return taken

    def make_room(self, count: int, holder: Holder) -> None:
        """Takes pages from other holders until `count` can be taken, or nobody else has any."""
        for ref in list(self._holders):
            if self.free + self.kept >= count:
                break
            other = ref()
            if other is not None and other is not holder:
                other.clear()

    def find(self, keys: Iterator[bytes]) -> list[int]:
        """The pages of a prompt's beginning, as far as they are here."""
        pages = []
        for key in keys:
            if key not in self._by_key:
                break
            pages.append(self._by_key[key])
        return pages

    def hold(self, pages: Sequence[int]) -> None:
        """One more sequence holds these."""
        for page in pages:
            self._holds[page] += 1
            self._idle.pop(page, None)

    def release(self, pages: Sequence[int]) -> None:
        """One sequence less holds these. The last ones of a prompt are given away before the first ones."""
        for page in reversed(pages):
            self._holds[page] -= 1
            assert self._holds[page] >= 0, f"page {page} was released more often than held"
            if self._holds[page] == 0:
                if page in self._key_of:
                    self._idle[page] = None
                else:
                    self._free.append(page)

    def keep(self, page: int, key: bytes) -> None:
        """Notes what a full page holds. Where another page holds the same, that one stays the known one."""
        if key not in self._by_key and page not in self._key_of:
            self._by_key[key] = page
            self._key_of[page] = key

    def forget(self, page: int) -> None:
        """The page is about to hold something else."""
        key = self._key_of.pop(page, None)
        if key is not None:
            del self._by_key[key]

    def _touch(self, holder: Holder) -> None:
        alive = [ref for ref in self._holders if ref() not in (None, holder)]
        self._holders = [*alive, weakref.ref(holder)]
