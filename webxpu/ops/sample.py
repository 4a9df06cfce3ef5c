"""Drawing the next token: thresholds found on the bits of the floats, without a sort, then one Gumbel-max draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold, scratch
from webxpu.gpu.target import Gpu
from webxpu.llm.state import State
from webxpu.ops.advance import advancing, append, check_history
from webxpu.ops.penalize import BANNED

# Threads of a workgroup and logits of a thread; a CPU adapter pays for every workgroup with a barrier.
THREADS = 256
STEPS, CPU_STEPS = 4, 64
# Words of the histograms, and of each workgroup's moments: kernels/_with/radix.wgsl.
WORK_WORDS = 4160
MOMENTS = 3
LEVELS = 4

U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]

# A probability is counted in units of 2^-31 of the most likely token's, so that sums are exact in any order.
WEIGHT_UNIT = 2.0**31
# Philox4x32-10, Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), as in Random123.
_PHILOX_M = (0xD2511F53, 0xCD9E8D57)
_PHILOX_W = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox(counter: tuple[Any, Any, Any, Any], key: tuple[int, int]) -> tuple[U32, U32, U32, U32]:
    """Four random words for each counter (four words, which may be arrays) and key (two words)."""
    c0, c1, c2, c3 = (np.asarray(c, np.uint64) for c in counter)
    for turn in range(10):
        k0, k1 = ((k + turn * w) & 0xFFFFFFFF for k, w in zip(key, _PHILOX_W, strict=True))
        left, right = (c * np.uint64(m) for c, m in zip((c0, c2), _PHILOX_M, strict=True))
        c0, c1, c2, c3 = (
            (right >> _HALF) ^ c1 ^ np.uint64(k0), right & _LOW, (left >> _HALF) ^ c3 ^ np.uint64(k1), left & _LOW,
        )  # fmt: skip
    return tuple(c.astype(np.uint32) for c in (c0, c1, c2, c3))  # type: ignore[return-value]


def gumbel(words: U32) -> NDArray[np.float64]:
    """Gumbel noise: -ln(-ln u) with u = (n + 1/2) / 2^23 from the upper 23 bits n of a word, exact in float32 and never
    0 or 1."""
    u = ((words >> np.uint32(9)).astype(np.float64) + 0.5) / 2**23
    return np.asarray(-np.log(-np.log(u)))


def order_bits(values: NDArray[np.float32]) -> U32:
    """Words in the order of the floats: all bits of a negative one are flipped, of a positive one only the sign."""
    bits = values.view(np.uint32)
    return np.asarray(bits ^ np.where(bits >> np.uint32(31), np.uint32(0xFFFFFFFF), np.uint32(0x80000000)))


def threshold(bits: U32, weights: U64, target: int) -> int:
    """The largest t with sum(weights[bits >= t]) >= target, by bisection; 0 where even the whole sum is less."""
    found = 0
    for bit in range(31, -1, -1):
        if int(weights[bits >= found | 1 << bit].sum()) >= target:
            found |= 1 << bit
    return found


def lowest_in_sigma(logits: NDArray[np.float32], n: float) -> np.float32:
    """The largest logit less n standard deviations (of the population) of those that are not banned."""
    largest = logits.max()
    below = logits[logits > BANNED].astype(np.float64) - largest
    variance = max(0.0, (below**2).mean() - below.mean() ** 2) if below.size else 0.0
    return np.float32(largest - n * np.sqrt(variance))


def candidates(logits: NDArray[np.float32], state: State) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Which tokens may be drawn, and each one's (logit - the largest) / temperature."""
    bits = order_bits(logits)
    with np.errstate(over="ignore"):  # of a banned token
        scaled = ((logits - logits.max()) / np.float32(state.temperature)).astype(np.float32)
    likely = np.exp(scaled)
    keep = bits >= (threshold(bits, np.ones(len(bits), np.uint64), state.top_k) if state.top_k else 0)
    if state.top_n_sigma > 0:
        keep &= logits >= lowest_in_sigma(logits, state.top_n_sigma)
    kept = keep & (likely >= np.float32(state.min_p))
    if state.top_p < 1:
        weights = np.where(keep, likely.astype(np.float64) * WEIGHT_UNIT, 0).astype(np.uint64)
        target = int(weights.sum()) * int(state.top_p * 2**32) >> 32
        kept &= bits >= threshold(bits, weights, max(target, 1))
    return kept, scaled


def scores(logits: NDArray[np.float32], state: State) -> NDArray[np.float64]:
    """What the draw takes the maximum of; -inf for a token that may not be drawn."""
    if state.temperature <= 0:
        return logits.astype(np.float64)
    kept, scaled = candidates(logits, state)
    key = state.seed & 0xFFFFFFFF, state.seed >> 32
    noise = gumbel(philox((np.arange(len(logits)), state.step, 0, 0), key)[0])
    return np.where(kept, scaled + noise, -np.inf)


@op(writes=("history", "state", "pages"))
def sample(logits: Any, history: Any, state: Any, pages: Any = None) -> None:
    """Draws from softmax(logits / temperature), filtered by top-n-sigma, top-k, min-p and top-p, and appends it as
    `advance` does.

    logits   (V,) float32; a token at -inf is never drawn beside a finite one
    history  (C,) int32, written, a ring: the id at every position
    state    (64,) uint32, written; its fields are the options:
      temperature  0 takes the highest logit, lowest id on ties, and nothing below applies
      top_n_sigma  keeps logits within so many standard deviations of the highest one, whatever the temperature; they
                   are those of all logits above -2^127, the highest included; 0 keeps all
      top_k        keeps the k highest logits and what ties with the last of them; 0 or V and above keep all
      min_p        keeps tokens with at least min_p times the probability of the most likely one
      top_p        keeps the fewest most likely tokens whose probabilities reach top_p of what the two above left, and
                   what ties with the last of them; 1 keeps all
      seed, step   the noise of token i is Gumbel, from word 0 of Philox4x32-10(key = seed, counter = (i, step, 0, 0))
    pages    (m,) int32, the cache's page table, written where the window rolls, see `advance`; None where it never does

    The token with the highest (logit - largest) / temperature + noise is taken, the lowest id on ties, which is a draw
    from the filtered distribution. Probabilities are cut to multiples of 2^-31 of the largest for top_p. NumPy and GPU
    draw the same token, but where two scores, or a filter's two sides, lie within rounding of each other. Raises
    ShapeError.
    """
    append(int(np.argmax(scores(logits, State.from_words(state)))), history, state, pages)


@sample.spec
def _(logits: Spec, history: Spec, state: Spec, pages: Spec | None = None) -> tuple[Spec, ...]:
    check(logits.dtype == "float32" and len(logits.shape) == 1, "sample", "logits", "float32[V]", logits)
    check(logits.shape[0] >= 1, "sample", "logits", "at least one token", logits)
    check_history("sample", history, state, pages)
    return ()


@sample.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], logits: Spec, history: Spec, state: Spec, pages: Spec | None = None) -> Plan:
    steps = CPU_STEPS if gpu.target == "cpu" else STEPS
    groups = -(-logits.shape[0] // (THREADS * steps))
    words = WORK_WORDS + MOMENTS * groups
    work, values, ids = scratch(0), scratch(1), scratch(2)
    todo = [Dispatch(resolve(gpu, "sample", "begin"), {}, [work], fold(-(-words // THREADS)))]
    for entry in ("count", "weigh"):
        kernel, bindings = resolve(gpu, "sample", entry), [arg(0), work, arg(2, "uniform")]
        todo += [Dispatch(kernel, {"LEVEL": i, "STEPS": steps}, bindings, fold(groups)) for i in range(LEVELS)]
    kernel, bindings = resolve(gpu, "sample", "draw"), [arg(0), work, values, ids, arg(2, "uniform")]
    todo.append(Dispatch(kernel, {"STEPS": steps}, bindings, fold(groups)))
    places = [arg(1, "read_write"), arg(2, "read_write"), *([arg(3, "read_write")] if pages else [])]
    todo.append(advancing(gpu, [scratch(1, "read"), scratch(2, "read")], places))
    return Plan(todo, [Spec((words,), "uint32"), Spec((groups,), "float32"), Spec((groups,), "int32")])
