"""The end of a step, whatever the architecture: the head's logits, and the token that follows.

V vocabulary, K hidden
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webxpu import ops
from webxpu.llm.cache import Cache
from webxpu.llm.config import Config


@dataclass(frozen=True)
class Choice:
    """What of choosing a token is fixed when a program is recorded; all else lies in the state.

    greedy      the most likely token; else a draw
    """

    greedy: bool = True

    def __str__(self) -> str:
        return "greedy" if self.greedy else "sample"


def choose(config: Config, w: Mapping[str, Any], cache: Cache, x: Any, *, greedy: bool) -> None:
    """Chooses the id that follows row state.rows - 1 of x, appends it to the history and moves the state on."""
    pages = cache.rolled
    if greedy:
        best, ids = ops.norm_head_argmax(w["head"], x, w["head_gain"], cache.state, eps=config.rms_eps)
        ops.advance(best, ids, cache.history, cache.state, *pages)
    else:
        ops.sample(logits(config, w, cache, x), cache.history, cache.state, *pages)


def logits(config: Config, w: Mapping[str, Any], cache: Cache, x: Any) -> Any:
    """(V,) float32: the scores of the token after row state.rows - 1 of x."""
    return ops.norm_head(w["head"], x, w["head_gain"], cache.state, eps=config.rms_eps)
