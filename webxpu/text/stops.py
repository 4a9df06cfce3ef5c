"""Strings that end a text while it is made."""

from __future__ import annotations

from collections.abc import Sequence

from webxpu.errors import ShapeError


class StopStrings:
    """Gives a text out up to the first of some strings, in whatever pieces it comes. The first is the one that is
    complete first; of two that end together it is the longer one.

    found   the string that ended it, or None

    Raises ShapeError for what is no list of texts.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        texts: Sequence[object] = () if isinstance(stops, str) else stops
        if isinstance(stops, str) or not all(isinstance(stop, str) and stop for stop in texts):
            raise ShapeError(f"chat: stop must be a list of texts that are not empty, got {stops!r}")
        self.found: str | None = None
        self._stops = tuple(stops)
        self._held = ""

    def push(self, text: str) -> str:
        """What may be shown after `text` came: all but an end that a stop string may begin with."""
        if self.found is not None:
            return ""
        held = self._held + text
        ends = [(at + len(stop), -len(stop), stop) for stop in self._stops if (at := held.find(stop)) >= 0]
        if ends:
            end, _, self.found = min(ends)
            self._held = ""
            return held[: end - len(self.found)]
        begun = max((self._begun(held, stop) for stop in self._stops), default=0)
        self._held = held[len(held) - begun :]
        return held[: len(held) - begun]

    def finish(self) -> str:
        """What was held back and is no stop string, at the end of the text."""
        rest, self._held = self._held, ""
        return rest

    @staticmethod
    def _begun(text: str, stop: str) -> int:
        """How many characters at the end of a text are the beginning of a stop string."""
        most = min(len(text), len(stop) - 1)
        return next((n for n in range(most, 0, -1) if text.endswith(stop[:n])), 0)
