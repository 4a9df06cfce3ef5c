"""The llama family: RMSNorm, grouped-query attention with rope, SwiGLU, no biases.

Written once. On NumPy arrays these functions are the reference model; on tensors under `device.record()` they are the
prefill and decode programs. Whatever changes between steps lies in `cache.state`.

L rows, K hidden, H query heads, G key heads, D head width, F feed-forward width, V vocabulary
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from webxpu import ops
from webxpu.formats.tensor_info import TensorInfo
from webxpu.llm.cache import Cache
from webxpu.llm.config import Config
from webxpu.llm.weights import Weights


def weights(config: Config, tensors: Mapping[str, TensorInfo], named: Callable[[str], str] = str) -> Weights:
    """The weights of a file by the names that `forward` and `webxpu.llm.head` read.

    named   what the file calls a tensor, of GGUF's name for it
    """
    c, found = config, Weights(tensors, named)
    queries, keys = c.heads * c.head_dim, c.kv_heads * c.head_dim
    found.take("embedding", {"token_embd.weight": (c.vocab, c.hidden)})
    for i in range(c.layers):
        file = f"blk.{i}"
        found.take(f"{i}.attention_gain", {f"{file}.attn_norm.weight": (c.hidden,)})
        found.take(
            f"{i}.qkv",
            {
                f"{file}.attn_q.weight": (queries, c.hidden),
                f"{file}.attn_k.weight": (keys, c.hidden),
                f"{file}.attn_v.weight": (keys, c.hidden),
            },
        )
        found.take(f"{i}.attention_out", {f"{file}.attn_output.weight": (c.hidden, queries)})
        found.take(f"{i}.ffn_gain", {f"{file}.ffn_norm.weight": (c.hidden,)})
        found.take(
            f"{i}.gate_up",
            {f"{file}.ffn_gate.weight": (c.ffn, c.hidden), f"{file}.ffn_up.weight": (c.ffn, c.hidden)},
        )
        found.take(f"{i}.down", {f"{file}.ffn_down.weight": (c.hidden, c.ffn)})
    found.take("head_gain", {"output_norm.weight": (c.hidden,)})
    # A file without an output matrix multiplies by its embedding.
    head = "output.weight" if found.has("output.weight") else "token_embd.weight"
    found.take("head", {head: (c.vocab, c.hidden)})
    found.refuse_unused()
    return found


def forward(config: Config, w: Mapping[str, Any], cache: Cache, *, rows: int, parts: int) -> Any:
    """Runs the ids history[position : position + rows] through all layers and keeps their keys and values.

    parts    how many ways attention splits its keys
    returns  (L, K) float32, the last layer's output; rows past state.rows are padding
    """
    c, pages, state = config, cache.pages, cache.state
    x = ops.embed(w["embedding"], cache.history, state, rows=rows)  # (L,K)
    for i, kv in enumerate(cache.layers):
        q = ops.norm_qkv(
            w[f"{i}.qkv"], x, w[f"{i}.attention_gain"], cache.tables[i], kv, pages, state,
            heads=c.heads, kv_heads=c.kv_heads, eps=c.rms_eps, pairs=c.rope_pairs,
        )  # (L,H,D)  # fmt: skip
        acc, stats = ops.attend(q, kv, pages, state, parts=parts)
        x = ops.attend_project(w[f"{i}.attention_out"], acc, stats, x)  # (L,K)
        hidden = ops.norm_gate_up(w[f"{i}.gate_up"], x, w[f"{i}.ffn_gain"], kind="silu", eps=c.rms_eps)  # (L,F)
        x = ops.project(w[f"{i}.down"], hidden, x)  # (L,K)
    return x
