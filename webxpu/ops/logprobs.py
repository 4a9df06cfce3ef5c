"""Log-probabilities of the token that a step chose and of the most likely ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold, scratch
from webxpu.gpu.target import Gpu
from webxpu.llm.state import State
from webxpu.ops.advance import check_history
from webxpu.ops.penalize import check_logits

MAX_MOST = 32
_THREADS = 256
# Logits of a thread that adds up; a CPU adapter pays for every workgroup with barriers.
_SUM_STEPS, _CPU_SUM_STEPS = 4, 16
# Candidates of a workgroup: kernels/_with/highest.wgsl.
_RIVALS = 1024


@op(writes=("ring",))
def logprobs(logits: Any, history: Any, state: Any, ring: Any, *, most: int) -> None:
    """Writes log_softmax(logits) of the history's last token, and of the highest ones, into the ring's entry of it.

    logits   (V,) float32, from which the token was chosen
    history  (C,) int32: the id at every position, to which `advance` or `sample` has added the token
    state    (64,) uint32, as they left it
    ring     (C, 1 + 2 * most) float32, written: entry (evicted + position) % C is the token's log-probability, and for
             each of the `most` highest tokens its id and its own, highest first, the lowest id first among equals
    most     0 to 32, at most V

    Over the whole vocabulary, before temperature and filters. A banned or forbidden token has about -2^127 or less.
    Once a sequence is done nothing is written: it ends with a stop id, or a token for which there was no room. Sums
    are in float64 (float32 on the GPU, a tree of partial sums). Raises ShapeError.
    """
    now = State.from_words(state)
    if now.done:
        return
    place = (now.evicted + now.position) % len(history)
    exact = logits.astype(np.float64)
    largest = exact.max()
    values = exact - largest - np.log(np.exp(exact - largest).sum())
    values = np.maximum(values, np.finfo(np.float32).min).astype(np.float32)
    entry = ring[place]
    if 0 <= history[place] < len(logits):
        entry[0] = values[history[place]]
    best = np.argsort(-exact, kind="stable")[:most]
    entry[1::2] = best
    entry[2::2] = values[best]


@logprobs.spec
def _(logits: Spec, history: Spec, state: Spec, ring: Spec, *, most: int) -> tuple[Spec, ...]:
    check_logits("logprobs", logits)
    check_history("logprobs", history, state)
    check(history.size >= 1, "logprobs", "history", "of at least one place", history)
    highest = min(MAX_MOST, logits.size)
    check(0 <= most <= highest, "logprobs", "most", f"from 0 to {highest}", most)
    fits = ring == Spec((history.size, 1 + 2 * most), "float32")
    check(fits, "logprobs", "ring", f"float32[{history.size}, {1 + 2 * most}]", ring)
    return ()


@logprobs.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], logits: Spec, history: Spec, state: Spec, ring: Spec, *, most: int) -> Plan:
    steps = _CPU_SUM_STEPS if gpu.target == "cpu" else _SUM_STEPS
    groups = -(-logits.size // (_THREADS * steps))
    buffers = [Spec((groups, 2), "float32")]
    todo = [Dispatch(resolve(gpu, "logprobs", "sums"), {"STEPS": steps}, [arg(0), scratch(0)], fold(groups))]
    todo += _highest(gpu, logits.size, most, buffers)
    highest = len(buffers) - 2
    bindings = [
        arg(0), scratch(0, "read"), scratch(highest, "read"), scratch(highest + 1, "read"), arg(1),
        arg(3, "read_write"), arg(2, "uniform"),
    ]  # fmt: skip
    todo.append(Dispatch(resolve(gpu, "logprobs", "write"), {"MOST": most}, bindings, (1, 1, 1)))
    return Plan(todo, buffers)


def _highest(gpu: Gpu, candidates: int, most: int, buffers: list[Spec]) -> list[Dispatch]:
    """Passes that keep the `most` highest of each workgroup's candidates until one workgroup is left. Their values and
    ids are pairs of buffers, which it appends; those of the last pass are the last two."""
    if most == 0:
        buffers += [Spec((1,), "float32"), Spec((1,), "uint32")]
        return []
    todo: list[Dispatch] = []
    while True:
        groups = -(-candidates // _RIVALS)
        at = len(buffers)
        buffers += [Spec((groups * most,), "float32"), Spec((groups * most,), "uint32")]
        read = [scratch(at - 2, "read"), scratch(at - 1, "read")] if todo else [arg(0)]
        kernel = resolve(gpu, "logprobs", "next" if todo else "first")
        todo.append(Dispatch(kernel, {"MOST": most}, [scratch(at), scratch(at + 1), *read], fold(groups)))
        if groups == 1:
            return todo
        candidates = groups * most
