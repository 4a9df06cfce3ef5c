"""Choosing tokens on the host with the generator of Python's `random`: for replies that must equal those of a runtime
that draws so, and for looking into a choice step by step. Slower than the GPU, since all logits come to the host."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from webxpu.llm.constraints import NOTHING_ALLOWED, ConstraintError
from webxpu.llm.sampler import Sampling, check_whole
from webxpu.llm.state import State
from webxpu.ops.penalize import BANNED, add, punish
from webxpu.ops.sample import lowest_in_sigma

F32 = NDArray[np.float32]


@dataclass(frozen=True)
class Ranked:
    """Candidates for the next token: their ids and logits, highest first."""

    ids: NDArray[np.int64]
    logits: F32

    def first(self, count: int) -> Ranked:
        return Ranked(self.ids[:count], self.logits[:count])


class HostSampler:
    """Chooses tokens with MT19937: `model.generate(ids, sampler=HostSampler(Sampling(temperature=1.0), seed=42))`.

    sampling  the options, in the order of `Sampling`, but dry behind top_k and top_n_sigma; the tokens that came are
              all of prompt and reply, also those that a window dropped
    seed      any whole number of at least 0, as `random.Random` takes it; None takes the options' own, or a fresh one

    One number is drawn for each token that is picked, and none where the temperature is 0. It goes on from token to
    token, so each generation needs a sampler of its own. Raises ShapeError.
    """

    def __init__(self, sampling: Sampling, *, seed: int | None = None) -> None:
        if seed is not None:
            check_whole("HostSampler", "seed", seed, 0)
        elif sampling.seed is not None:
            seed = sampling.seed
        self.sampling = sampling
        self._draw = random.Random(secrets.randbits(32) if seed is None else seed).random

    def pick(self, logits: F32, ids: Sequence[int], allowed: Collection[int] | None = None) -> int:
        """The next id.

        logits   (V,) float32
        ids      all ids so far, of prompt and reply
        allowed  the only ids that may come; None for any

        Raises ConstraintError where nothing is allowed.
        """
        sampling = self.sampling
        scores = penalized(logits, ids, sampling)
        ranked = permitted(scores, sampling.top_k or len(scores), allowed)
        if not sampling.greedy and sampling.top_n_sigma > 0:
            distance = scores.max() - lowest_in_sigma(scores, sampling.top_n_sigma)
            ranked = within(ranked, float(distance))
        if sampling.dry is not None:
            ranked = lowered(ranked, sampling.dry.penalties(ids))
        if sampling.greedy:
            return int(ranked.ids[0])
        return drawn(ranked, sampling, self._draw)


def penalized(logits: F32, ids: Sequence[int], sampling: Sampling) -> F32:
    """The logits after biases, penalties and bans, as `webxpu.ops.penalize` makes them."""
    scores = np.maximum(np.asarray(logits, np.float32), BANNED)
    add(scores, *sampling.bias_table(len(scores)))
    state = State()
    sampling.fill(state)
    punish(scores, np.asarray(ids, np.int32), state)
    return scores


def permitted(scores: F32, count: int, allowed: Collection[int] | None = None) -> Ranked:
    """The `count` highest, the lowest id first among equals, as far as they are allowed; if none of these is, the
    `count` highest that are. Banned tokens come only where nothing else is left, and then a single one.

    Raises ConstraintError where nothing is allowed.
    """
    order = np.argsort(-scores.astype(np.float64), kind="stable")
    if allowed is not None:
        may = np.zeros(len(scores), bool)
        may[np.fromiter(allowed, np.int64)] = True
        left = order[:count][may[order[:count]]]
        order = left if left.size else order[may[order]]
    if not order.size:
        raise ConstraintError(NOTHING_ALLOWED)
    finite = order[scores[order] > BANNED]
    order = finite[:count] if finite.size else order[:1]
    return Ranked(order, scores[order])


def within(ranked: Ranked, distance: float) -> Ranked:
    """Those at most so far below the best."""
    return ranked.first(int(np.count_nonzero(ranked.logits >= ranked.logits[0] - np.float32(distance))))


def lowered(ranked: Ranked, penalties: Mapping[int, float]) -> Ranked:
    """Penalties subtracted from the logits of their ids, in the new order; what is equal keeps its own."""
    less = np.array([penalties.get(int(i), 0.0) for i in ranked.ids])
    logits = (ranked.logits - less).astype(np.float32)
    order = np.argsort(-logits.astype(np.float64), kind="stable")
    return Ranked(ranked.ids[order], logits[order])


def drawn(ranked: Ranked, sampling: Sampling, draw: Callable[[], float]) -> int:
    """One draw: softmax at the temperature, then the shorter prefix of min_p and top_p, then the first token at which
    the probabilities pass a random part of their sum."""
    scaled = (ranked.logits / np.float32(sampling.temperature)).astype(np.float64)
    likely = np.exp(scaled - scaled[0])
    likely /= likely.sum()
    by_min_p = max(1, int(np.count_nonzero(likely >= sampling.min_p * likely[0])))
    kept = likely[: min(by_min_p, _reaching(likely, sampling.top_p))]
    left = draw() * sum(kept.tolist())
    for token, part in zip(ranked.ids.tolist(), kept.tolist(), strict=False):
        left -= part
        if left < 0:
            return int(token)
    return int(ranked.ids[len(kept) - 1])


def _reaching(likely: NDArray[np.float64], top_p: float) -> int:
    """How many of the first ones it takes until their sum is at least top_p."""
    total = 0.0
    for count, part in enumerate(likely.tolist(), 1):
        total += part
        if total >= top_p:
            return count
    return len(likely)
