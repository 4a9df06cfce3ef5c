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
from webxpu.llm.tables import Tables


@dataclass(frozen=True)
class Choice:
    """What of choosing a token is fixed when a program is recorded; all else lies in the state and in tables.

    greedy      the most likely token; else a draw
    penalized   biases, penalties and bans change the scores first
    dry         so does the table of the DRY penalty
    masked      the mask says which tokens are allowed
    logprobs    0, or how many of the highest log-probabilities are written beside the token's own; they are those
                behind the penalties, but before dry and mask
    """

    greedy: bool = True
    penalized: bool = False
    dry: bool = False
    masked: bool = False
    logprobs: int = 0

    @property
    def plain(self) -> bool:
        """Nothing but the most likely token: the fused kernels do it."""
        return self == Choice(greedy=True)

    def __str__(self) -> str:
        flags = [name for name in ("penalized", "dry", "masked") if getattr(self, name)]
        most = [f"{self.logprobs} logprobs"] if self.logprobs else []
        return " ".join(["greedy" if self.greedy else "sample", *flags, *most])


def choose(
    config: Config,
    w: Mapping[str, Any],
    cache: Cache,
    x: Any,
    *,
    greedy: bool,
    penalized: bool = False,
    dry: bool = False,
    masked: bool = False,
    logprobs: int = 0,
    tables: Tables | None = None,
) -> None:
    """Chooses the id that follows row state.rows - 1 of x, appends it to the history and moves the state on.

    The options are those of `Choice`; the state's temperature is 0 where it is greedy.
    """
    choice = Choice(greedy, penalized, dry, masked, logprobs)
    if choice.plain:
        best, ids = ops.norm_head_argmax(w["head"], x, w["head_gain"], cache.state, eps=config.rms_eps)
        ops.advance(best, ids, cache.history, cache.state, *cache.rolled)
        return
    draw(cache, logits(config, w, cache, x), choice, tables)


def draw(cache: Cache, scores: Any, choice: Choice, tables: Tables | None) -> None:
    """Chooses the id that follows from the scores (V,), appends it to the history and moves the state on."""
    history, state, judged = cache.history, cache.state, scores
    if choice.penalized or choice.dry:
        assert tables is not None, "penalties need the bias table"
        biases = tables.bias_ids, tables.bias_values
        if choice.penalized and (choice.logprobs or not choice.dry):
            judged = ops.penalize(scores, history, state, *biases)
        if choice.dry:
            scores = ops.penalize(scores, history, state, *biases, tables.dry_ids, tables.dry_values)
        else:
            scores = judged
    if choice.masked:
        assert tables is not None, "a mask lies in the tables"
        scores = ops.mask(scores, tables.mask)
    ops.sample(scores, history, state, *cache.rolled)
    if choice.logprobs:
        assert tables is not None, "log-probabilities lie in the tables"
        ops.logprobs(judged, history, state, tables.logprobs(choice.logprobs), most=choice.logprobs)


def logits(config: Config, w: Mapping[str, Any], cache: Cache, x: Any) -> Any:
    """(V,) float32: the scores of the token after row state.rows - 1 of x."""
    return ops.norm_head(w["head"], x, w["head_gain"], cache.state, eps=config.rms_eps)
