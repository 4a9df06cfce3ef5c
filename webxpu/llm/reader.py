"""An `async for` that is left early ends what it reads."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Protocol


class Ending(Protocol):
    """Something that is read with `anext` and can be ended."""

    @property
    def finish_reason(self) -> str | None: ...
    async def __anext__(self) -> Any: ...
    def abort(self) -> None: ...
    async def stop(self) -> None: ...


class Reader:
    """What an `async for` over a generation, or over what wraps one, holds. Where it lets go early, it aborts."""

    def __init__(self, wrapped: Ending) -> None:
        self._wrapped = wrapped

    def __aiter__(self) -> Reader:
        return self

    async def __anext__(self) -> Any:
        return await self._wrapped.__anext__()

    def __del__(self) -> None:
        if self._wrapped.finish_reason is None:
            self._wrapped.abort()
            with contextlib.suppress(RuntimeError):  # no loop runs any more
                task = asyncio.get_running_loop().create_task(self._wrapped.stop())
                _ENDING.add(task)
                task.add_done_callback(_ENDING.discard)


# Tasks that end what was left early: a loop keeps only weak references to its tasks.
_ENDING: set[asyncio.Task[None]] = set()
