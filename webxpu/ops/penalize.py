"""Logits changed by what came before: biases, penalties on tokens of the history, bans of repeated n-grams."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, fold, out, scratch
from webxpu.gpu.target import Gpu
from webxpu.llm.state import State
from webxpu.ops.advance import check_history

# What a banned token's logit becomes, in place of -inf, which WGSL does not promise to know. It lies above the lowest
# float, which `mask` writes: where a mask allows banned tokens only, one of those is chosen and none that it forbids.
BANNED = np.float32(-(2.0**127))

_THREADS = 256


def came_before(history: NDArray[np.int32], state: State) -> NDArray[np.int32]:
    """The ids up to and including the last row's, oldest first, as far back as the ring still has them."""
    total = state.evicted + state.position + state.rows
    return history[np.arange(max(0, total - len(history)), total) % len(history)]


def repeats(ids: NDArray[np.int32], n: int) -> NDArray[np.int32]:
    """The ids that followed the last n - 1 of `ids` wherever those came before; for n = 1 all of them."""
    places = np.arange(n - 1, len(ids))
    for back in range(1, n if places.size else 1):
        places = places[ids[places - back] == ids[-back]]
    return ids[places]


@op
def penalize(
    logits: Any,
    history: Any,
    state: Any,
    bias_ids: Any,
    bias_values: Any,
    dry_ids: Any = None,
    dry_values: Any = None,
) -> Any:
    """The logits after the options of `state`, in this order.

    logits       (V,) float32
    history      (C,) int32: the id at every position, a ring; what came before are its last min(C, evicted + position +
                 rows) ids
    state        (64,) uint32; its fields are the options:
      biases      so many entries of the bias table are added to the logits of their ids
      repetition  each id that came before: a negative logit is multiplied by it, another one divided
      presence    and then less by this
      frequency   and less by this for each time that it came
      no_repeat   n: ids that would make a run of n ids come twice are banned; 0 bans none
    bias_ids     (B,) int32, no id twice; ids outside the vocabulary change nothing
    bias_values  (B,) float32; -inf bans the token
    dry_ids      (D,) int32, no id twice; entries of -1 are unused
    dry_values   (D,) float32, subtracted last from the logits of their ids
    returns      (V,) float32; a banned token, or one at or below -2^127, is at -2^127, which is a probability of 0

    It is transformers' SequenceBiasLogitsProcessor for single ids, RepetitionPenaltyLogitsProcessor and
    NoRepeatNGramLogitsProcessor. Raises ShapeError.
    """
    now = State.from_words(state)
    result = np.maximum(logits, BANNED)
    add(result, bias_ids[: now.biases], bias_values[: now.biases])
    punish(result, came_before(history, now), now)
    if dry_ids is not None:
        add(result, dry_ids, -dry_values)
    return result


def punish(result: NDArray[np.float32], before: NDArray[np.int32], now: State) -> None:
    """Changes the logits of ids that came before, as the options of the state have it."""
    ids, counts = np.unique(before[(before >= 0) & (before < len(result))], return_counts=True)
    values = result[ids]
    repetition = np.float32(now.repetition)
    with np.errstate(over="ignore"):  # what is banned stays so
        changed = np.where(values < 0, values * repetition, values / repetition)
        changed = changed - np.float32(now.presence) - np.float32(now.frequency) * counts.astype(np.float32)
    result[ids] = np.where(values > BANNED, np.maximum(changed, BANNED), BANNED)
    if now.no_repeat:
        again = repeats(before, now.no_repeat)
        result[again[(again >= 0) & (again < len(result))]] = BANNED


def add(logits: NDArray[np.float32], ids: NDArray[np.int32], values: NDArray[np.float32]) -> None:
    """Adds to the logits of some ids; nothing falls below BANNED, and nothing comes up from there."""
    fits = (ids >= 0) & (ids < len(logits))
    ids, values = ids[fits], values[fits]
    logits[ids] = np.where(logits[ids] > BANNED, np.maximum(logits[ids] + values, BANNED), BANNED)


@penalize.spec
def _(
    logits: Spec,
    history: Spec,
    state: Spec,
    bias_ids: Spec,
    bias_values: Spec,
    dry_ids: Spec | None = None,
    dry_values: Spec | None = None,
) -> Spec:
    check_logits("penalize", logits)
    check_history("penalize", history, state)
    check(history.size >= 1, "penalize", "history", "of at least one place", history)
    _check_table("bias", bias_ids, bias_values)
    check((dry_ids is None) == (dry_values is None), "penalize", "dry_values", "given with dry_ids", dry_values)
    if dry_ids is not None and dry_values is not None:
        _check_table("dry", dry_ids, dry_values)
    return logits


def check_logits(op_name: str, logits: Spec) -> None:
    """The checks that the ops on logits share."""
    check(logits.dtype == "float32" and len(logits.shape) == 1, op_name, "logits", "float32[V]", logits)
    check(logits.shape[0] >= 1, op_name, "logits", "at least one token", logits)


def _check_table(name: str, ids: Spec, values: Spec) -> None:
    fits = ids.dtype == "int32" and len(ids.shape) == 1 and ids.size >= 1
    check(fits, "penalize", f"{name}_ids", f"int32[{name[0].upper()}] of at least one entry", ids)
    check(values == Spec(ids.shape, "float32"), "penalize", f"{name}_values", f"float32[{ids.size}]", values)


@penalize.plan
def _(
    gpu: Gpu,
    outputs: tuple[Spec, ...],
    logits: Spec,
    history: Spec,
    state: Spec,
    bias_ids: Spec,
    bias_values: Spec,
    dry_ids: Spec | None = None,
    dry_values: Spec | None = None,
) -> Plan:
    def kernel(entry: str, bindings: Any, grid: Any) -> Dispatch:
        return Dispatch(resolve(gpu, "penalize", entry), {}, bindings, grid)

    counts, uniform = scratch(0), arg(2, "uniform")
    places = fold(-(-max(history.size, bias_ids.size) // _THREADS))
    todo = [
        kernel("begin", [arg(0), out(), counts], flat_grid(logits.size)),
        kernel("count", [arg(1), arg(3), arg(4), out(), counts, uniform], places),
        kernel("apply", [arg(1), out(), counts, uniform], fold(-(-history.size // _THREADS))),
    ]
    if dry_ids is not None:
        todo.append(kernel("dry", [arg(5), arg(6), out()], fold(-(-dry_ids.size // _THREADS))))
    return Plan(todo, [Spec(logits.shape, "uint32")])
