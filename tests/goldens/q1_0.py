"""Makes q1_0.npz: rows of a real model and seeded ones, and the blocks that ggml's quantiser makes of them.

Run with libgguf 0.2.2 and gguf 0.19: `python tests/goldens/q1_0.py SmolLM2-135M-Instruct.Q4_1.gguf`. The rows are the
first two of blk.0.ffn_down (SmolLM2, Apache-2.0); the seeded ones are `uniform((64, 256), 5)` of webxpu/cases/case.py,
of which only the blocks are kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gguf
import libgguf
import numpy as np

from webxpu.cases.case import uniform

Q1_0 = 41


def main(model: str) -> None:
    [tensor] = [t for t in gguf.GGUFReader(model).tensors if t.name == "blk.0.ffn_down.weight"]
    real = gguf.dequantize(tensor.data[:2], tensor.tensor_type).astype(np.float32)
    edges = np.zeros((3, 128), np.float32)
    edges[1, ::2] = -0.0
    edges[2] = 1e7  # past the largest float16
    # Blocks whose mean rounds to another float16 where it is summed in another order.
    many = uniform((60_000, 128), 6, amp=0.03)
    blocks = libgguf.quantize_rows(many, Q1_0)
    exact = (np.abs(many).astype(np.float64).sum(axis=1) / 128).astype(np.float16)
    close = many[np.flatnonzero(blocks[:, :2].copy().view(np.float16)[:, 0] != exact)[:12]]
    print(len(close), "blocks whose sum's order shows")
    np.savez_compressed(
        Path(__file__).with_suffix(".npz"),
        real=real,
        real_blocks=libgguf.quantize_rows(real, Q1_0),
        uniform_blocks=libgguf.quantize_rows(uniform((64, 256), 5), Q1_0),
        close=close,
        close_blocks=libgguf.quantize_rows(close, Q1_0),
        edges=edges,
        edge_blocks=libgguf.quantize_rows(edges, Q1_0),
    )


if __name__ == "__main__":
    main(sys.argv[1])
