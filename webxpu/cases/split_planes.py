"""Cases of split_planes: whole tensors, chunks that start and end at odd blocks, a piece inside a tensor."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import EXACT, Case, block_weight, hashed
from webxpu.quant.ggml import BLOCK_TYPES, stored_nbytes

TOLERANCE = EXACT


def _chunk(type_name: str, first: int, count: int, total: int, target: int = 0) -> tuple[Any, ...]:
    """`count` blocks into a tensor of `total` that already holds other bytes."""
    k = BLOCK_TYPES[type_name].elements
    data = block_weight(type_name, (count, k), seed=first).data
    assert len(data) == count * BLOCK_TYPES[type_name].nbytes
    raw = np.concatenate([data, np.zeros(-len(data) % 4, np.uint8)]).view(np.uint32)
    stored = hashed(stored_nbytes(type_name, (total, k)) // 4, seed=total)
    return raw, stored, np.array([first, count, total, target], np.uint32)


CASES = [
    Case("split_planes", f"{t}-{name}", partial(_chunk, t, *span), {"type": t}, quick=name == "whole")
    for t in ("q4_0", "q8_0")
    for name, span in [
        ("one-block", (0, 1, 1)),
        ("whole", (0, 300, 300)),
        ("odd-start", (7, 20, 60)),
        ("odd-end", (8, 21, 60)),
        ("odd-both", (7, 130, 200)),
        ("inside", (3, 65, 400, 128)),
        ("to-the-end", (60, 67, 128, 1)),
    ]
] + [
    Case("split_planes", f"{t}-{name}", partial(_chunk, t, *span), {"type": t})
    for t in ("q5_0", "q6_k")  # a scale before codes of five words; one after codes
    for name, span in [("odd-both", (7, 130, 200)), ("inside", (3, 65, 400, 128))]
]
