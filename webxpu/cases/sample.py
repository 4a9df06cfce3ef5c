"""Cases of sample: each filter, all together, vocabularies around a workgroup's logits. No case depends on rounding."""

from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import EXACT, Case, uniform
from webxpu.llm.state import State
from webxpu.ops.sample import scores

TOLERANCE = EXACT
# A device's exp is off by up to 4e-6, and so are sums and scores made with it.
SLACK = 1e-4


def is_settled(logits: NDArray[np.float32], state: State, slack: float = SLACK) -> bool:
    """Whether no rounding within `slack` changes the token: the same one wins where the filters keep a little more and
    a little less, and it wins by more than `slack`."""
    if state.temperature <= 0:
        return True
    more, less = 1 + slack, 1 - slack
    loose = replace(
        state, top_p=min(1.0, state.top_p * more), min_p=state.min_p * less, top_n_sigma=state.top_n_sigma * more
    )
    tight = replace(state, top_p=state.top_p * less, min_p=state.min_p * more, top_n_sigma=state.top_n_sigma * less)
    if state.top_p >= 1:
        tight.top_p = 1.0
    many, few = scores(logits, loose), scores(logits, tight)
    best = np.sort(many)[-2:]
    return bool(np.argmax(many) == np.argmax(few) and (len(best) == 1 or best[1] - best[0] > slack))


_NO_FILTER = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "top_n_sigma": 0.0}


def _case(v: int, seed: int, amp: float = 8, filtered: bool = False, **options: Any) -> tuple[Any, ...]:
    return _settled(uniform((v,), v, amp=amp), seed, _NO_FILTER if filtered else {}, **options)


def _settled(logits: NDArray[np.float32], seed: int, unlike: dict[str, Any], **options: Any) -> tuple[Any, ...]:
    """The first seed whose draw is settled, and with `unlike` one where another token wins under those options."""
    for tried in count(seed):
        state = State(position=3, capacity=20, step=tried % 7, seed=tried, **options)
        if unlike and np.argmax(scores(logits, state)) == np.argmax(scores(logits, replace(state, **unlike))):
            continue
        if is_settled(logits, state):
            return logits, np.full(20, -1, np.int32), state.to_words()
    raise AssertionError


def _ties_at_the_threshold() -> tuple[Any, ...]:
    """Nine tokens share the logit of the fourth best: top-k 4 keeps them all."""
    logits, history, state = _case(700, 11, temperature=2.0, top_k=4)
    logits[np.argsort(logits)[-12:-3]] = np.sort(logits)[-4]
    return logits, history, state


def _sums_past_32_bits() -> tuple[Any, ...]:
    """404 tokens, 101 in every 1,024, just reach top_p: a sum that loses a carry does not, and keeps all the others."""
    logits = np.full(4096, -1, np.float32)
    logits.reshape(4, 1024)[:, 300:401] = 0
    top_p = 404 / (404 + 3692 * np.exp(-1)) * (1 - 3e-4)
    return _settled(logits, 1, _NO_FILTER, temperature=1.0, top_p=top_p)


def _sums_below_32_bits() -> tuple[Any, ...]:
    """All weights together fit one word, and the draw is not the most likely token."""
    return _settled(np.array([1, -2, 0], np.float32), 1, _NO_FILTER, temperature=1.5, top_p=0.8)


def _top_p_of_what_top_k_left() -> tuple[Any, ...]:
    """top_p 0.5 is reached by two of the four tokens that top-k leaves, and not by the four among all."""
    logits = np.full(1000, -2, np.float32)
    logits[[900, 20, 400, 70]] = 0, -0.5, -0.6, -0.7
    return _settled(logits, 1, {"top_p": 1.0}, temperature=1.0, top_k=4, top_p=0.5)


def _some_banned() -> tuple[Any, ...]:
    logits, history, state = _case(700, 3, amp=1, temperature=1.5)
    logits[::2] = np.finfo(np.float32).min
    return logits, history, state


def _sigma_without_the_banned() -> tuple[Any, ...]:
    """Banned tokens, were they counted, would make sigma so large that everything stays."""
    logits = uniform((5000,), 5, amp=8)
    logits[::3], logits[1::9] = -(2.0**127), np.finfo(np.float32).min
    return _settled(logits, 1, _NO_FILTER, temperature=5.0, top_n_sigma=0.5)


def _top_p_of_what_sigma_left() -> tuple[Any, ...]:
    """top_p 0.5 is reached by two of the four tokens within sigma, and not by the four among all."""
    logits = np.full(1000, -2, np.float32)
    logits[[900, 20, 400, 70]] = 0, -0.5, -0.6, -0.7
    return _settled(logits, 1, {"top_p": 1.0}, temperature=1.0, top_n_sigma=8.0, top_p=0.5)


def _rolling() -> tuple[Any, ...]:
    logits = uniform((700,), 6, amp=8)
    state = State(position=191, capacity=192, sinks=64, evicted=128, step=300, seed=4, temperature=2.0)
    return logits, np.full(192, -1, np.int32), state.to_words(), np.array([5, 9, 7], np.int32)


def _equal(temperature: float, **options: Any) -> tuple[Any, ...]:
    _, history, state = _case(300, 5, temperature=temperature, **options)
    return np.full(300, 1.25, np.float32), history, state


_FREE: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0.0, "top_k": 3},
    "plain": {"temperature": 1.0},
    "hot": {"temperature": 5.0},
    "cold": {"temperature": 0.01},
    "top-k-above-v": {"temperature": 2.0, "top_k": 2**32 - 1},
}
_FILTERED: dict[str, dict[str, Any]] = {
    "top-k": {"temperature": 4.0, "top_k": 40},
    "top-k-1": {"temperature": 2.0, "top_k": 1},
    "top-p": {"temperature": 4.0, "top_p": 0.3},
    "top-p-tiny": {"temperature": 2.0, "top_p": 1e-6},
    "sigma": {"temperature": 4.0, "top_n_sigma": 0.25},
    "sigma-1": {"temperature": 6.0, "top_n_sigma": 1.0},
    "sigma-above-top-k": {"temperature": 6.0, "top_n_sigma": 0.05, "top_k": 1000},
    "sigma-below-top-k": {"temperature": 6.0, "top_n_sigma": 1.5, "top_k": 20},
    "sigma-and-all": {"temperature": 6.0, "top_n_sigma": 1.0, "top_k": 3000, "top_p": 0.8, "min_p": 0.3},
    "min-p": {"temperature": 4.0, "min_p": 0.5},
    "all": {"temperature": 3.0, "top_k": 300, "top_p": 0.8, "min_p": 0.02},
}

CASES = [
    *(Case("sample", name, partial(_case, 5000, 1, **options)) for name, options in _FREE.items()),
    *(
        Case("sample", name, partial(_case, 5000, 1, filtered=True, **options), quick=name == "all")
        for name, options in _FILTERED.items()
    ),
    *(
        Case(
            "sample", f"{v}-tokens", partial(_case, v, 2**63 + v, temperature=1.5, top_k=v // 2, top_p=0.9, min_p=1e-3)
        )
        for v in (1, 2, 255, 1023, 1024, 1025, 49_152, 262_144)
    ),
    *(
        Case("sample", f"seed-{seed}", partial(_case, 2000, seed, temperature=3.0))
        for seed in (0, 2**32 - 1, 2**32, 2**64 - 50)
    ),
    Case("sample", "ties-at-the-threshold", _ties_at_the_threshold),
    Case("sample", "sums-past-32-bits", _sums_past_32_bits),
    Case("sample", "sums-below-32-bits", _sums_below_32_bits),
    Case("sample", "top-p-of-what-top-k-left", _top_p_of_what_top_k_left),
    Case("sample", "top-p-of-what-sigma-left", _top_p_of_what_sigma_left),
    Case("sample", "sigma-without-the-banned", _sigma_without_the_banned),
    Case("sample", "sigma-of-equal-logits", partial(_equal, 1.0, top_n_sigma=1.0)),
    *(
        Case("sample", f"sigma-{v}-tokens", partial(_case, v, 5, temperature=2.0, top_n_sigma=0.4))
        for v in (1, 1025, 16_385, 262_144)
    ),
    Case("sample", "some-banned", _some_banned),
    Case("sample", "equal-logits", partial(_equal, 1.0)),
    Case("sample", "equal-logits-greedy", partial(_equal, 0.0)),
    Case("sample", "stop-id", lambda: (*_case(1, 0)[:2], State(capacity=20, temperature=1.0, stops=(0,)).to_words())),
    Case("sample", "the-window-rolls", _rolling),
    Case("sample", "done", partial(_case, 50, 3, temperature=1.0, done=True)),
]
