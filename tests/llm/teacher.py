"""A llama in plain float64: what the engine is held to with real weights. It shares no op with the engine.

L rows, K hidden, H query heads, G key heads, D head width, F feed-forward width, V vocabulary
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.llm.config import Config
from webxpu.quant.ggml import Blocks, dequantize

F64 = NDArray[np.float64]


class Teacher:
    """One conversation; `arrays` are those of `read_arrays`."""

    def __init__(self, config: Config, arrays: Mapping[str, Any]) -> None:
        self.config = config
        shared = {id(a.data if isinstance(a, Blocks) else a): a for a in arrays.values()}
        dense = {
            key: np.asarray(dequantize(a) if isinstance(a, Blocks) else a, np.float64) for key, a in shared.items()
        }
        self.weights = {name: dense[id(a.data if isinstance(a, Blocks) else a)] for name, a in arrays.items()}
        self.reset()

    def reset(self) -> None:
        """Forgets what it was fed."""
        empty = np.zeros((0, self.config.kv_heads, self.config.head_dim))
        self.keys, self.values = [empty] * self.config.layers, [empty] * self.config.layers

    def feed(self, ids: Sequence[int], last: int = 1) -> F64:
        """The scores of the token after each of the last so many of these ids, (last, V)."""
        c, w, start = self.config, self.weights, len(self.keys[0])
        x = w["embedding"][np.asarray(ids)]
        positions = np.arange(start, start + len(ids))
        turn = np.exp(1j * positions[:, None] * c.rope_base ** (-np.arange(0, c.head_dim, 2) / c.head_dim))
        future = np.where(np.arange(start + len(ids)) > positions[:, None], -np.inf, 0.0)
        for i in range(c.layers):
            x = x + self._attended(i, _norm(x, w[f"{i}.attention_gain"], c.rms_eps), turn, future)
            both = _norm(x, w[f"{i}.ffn_gain"], c.rms_eps) @ w[f"{i}.gate_up"].T
            gate, up = np.split(both, 2, axis=1)
            x = x + (gate / (1 + np.exp(-gate)) * up) @ w[f"{i}.down"].T
        return _norm(x[-last:], w["head_gain"], c.rms_eps) @ w["head"].T

    def greedy(self, prompt: Sequence[int], count: int) -> F64:
        """The scores from which `count` greedy ids of a prompt come, (count, V)."""
        self.reset()
        rows = [self.feed(prompt)]
        while len(rows) < count:
            rows.append(self.feed([int(rows[-1].argmax())]))
        return np.concatenate(rows)

    def _attended(self, i: int, x: F64, turn: NDArray[np.complex128], future: F64) -> F64:
        c, rows = self.config, len(x)
        queries, keys = c.heads * c.head_dim, c.kv_heads * c.head_dim
        q, k, v = np.split(x @ self.weights[f"{i}.qkv"].T, [queries, queries + keys], axis=1)
        q, k, v = (part.reshape(rows, -1, c.head_dim) for part in (q, k, v))  # (L,H,D) (L,G,D) (L,G,D)
        self.keys[i] = np.concatenate([self.keys[i], _turned(k, turn)])
        self.values[i] = np.concatenate([self.values[i], v])
        k, v = (np.repeat(part, c.heads // c.kv_heads, axis=1) for part in (self.keys[i], self.values[i]))
        scores = np.einsum("lhd,shd->hls", _turned(q, turn), k) / np.sqrt(c.head_dim) + future
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = np.einsum("hls,shd->lhd", weights, v).reshape(rows, -1)
        return np.asarray(mixed @ self.weights[f"{i}.attention_out"].T)


def margins(scores: F64) -> F64:
    """How far the best score of each row lies above the second."""
    two = np.partition(scores, -2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])


def _turned(x: F64, turn: NDArray[np.complex128]) -> F64:
    """Rope on adjacent channels of (L, heads, D)."""
    return (np.ascontiguousarray(x).view(np.complex128) * turn[:, None]).view(np.float64)


def _norm(x: F64, gain: F64, eps: float) -> F64:
    return np.asarray(x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * gain)
