"""A mixture-of-experts block as Qwen3-MoE has it, written once: on arrays the reference, on tensors a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webxpu import ops


def moe_block(x: Any, router: Any, experts: Sequence[tuple[Any, Any, Any]], *, k: int, capacity: int) -> Any:
    """Every token through its k best experts, each a SwiGLU, by normalized gates.

    x         (T, D)
    router    (E, D)
    experts   E times gate (F, D), up (F, D) and down (D, F)
    capacity  tokens that an expert takes; the recorded slices want capacity * D to be a multiple of 64
    returns   (T, D)
    """
    d = x.shape[1]
    expert, gate = ops.router(ops.linear(x, router), k=k, normalize=True)
    buffer, pos = ops.moe_dispatch(x, expert, experts=len(experts), capacity=capacity)
    total = None
    for e, (gate_weight, up_weight, down_weight) in enumerate(experts):
        rows = buffer[e : e + 1].reshape(capacity, d)
        opened = ops.activation(ops.linear(rows, gate_weight), kind="silu")
        hidden = ops.elementwise(opened, ops.linear(rows, up_weight), kind="multiply")
        y = ops.linear(hidden, down_weight).reshape(1, capacity, d)
        part = ops.moe_gather(y, expert, pos, gate, first_expert=e)
        total = part if total is None else ops.elementwise(total, part, kind="add")
    return total
