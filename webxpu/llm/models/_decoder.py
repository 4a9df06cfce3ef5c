"""The decoder that all architectures here share; what sets them apart is in the configuration and the weights.

Written once. On NumPy arrays these functions are the reference model; on tensors under `device.record()` they are the
prefill and decode programs. Whatever changes between steps lies in `cache.state`.

L rows, K hidden, H query heads, G key heads, D head width, F feed-forward width, V vocabulary, E experts, R experts of
a token
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from webxpu import ops
from webxpu.errors import Unsupported
from webxpu.formats.tensor_info import TensorInfo
from webxpu.llm.cache import Cache
from webxpu.llm.config import Config
from webxpu.llm.weights import ROPE_FACTORS, Weights, runs
from webxpu.ops.attend import MAX_WIDTH


def weights(config: Config, tensors: Mapping[str, TensorInfo], named: Callable[[str], str] = str) -> Weights:
    """The weights of a file by the names that `forward` and `webxpu.llm.head` read.

    named   what the file calls a tensor, of GGUF's name for it

    Raises FormatError for a tensor that is missing or of a wrong shape, Unsupported for one that nothing computes with
    and for widths that no kernel takes.
    """
    c, found = config, Weights(tensors, named)
    _check_widths(c)
    found.take("embedding", {"token_embd.weight": (c.vocab, c.hidden)})
    for i in range(c.layers):
        _take_attention(c, found, i)
        (_take_experts if c.experts else _take_feed_forward)(c, found, i)
    _take_gain(c, found, "head_gain", "output_norm", c.hidden)
    # A file without an output matrix multiplies by its embedding.
    head = "output.weight" if found.has("output.weight") else "token_embd.weight"
    found.take("head", {head: (c.vocab, c.hidden)})
    if c.rope_factors:
        found.leave_out(ROPE_FACTORS)
    found.refuse_unused()
    return found


def _check_widths(c: Config) -> None:
    for what, width in (("hidden size", c.hidden), ("feed-forward size", c.ffn), ("head width", c.head_dim)):
        if width % 4:
            raise Unsupported(f"load: the {what} of a {c.architecture} model must be a multiple of 4, got {width}")
    if c.head_dim > MAX_WIDTH:
        raise Unsupported(
            f"load: the head width of a {c.architecture} model must be at most {MAX_WIDTH}, got {c.head_dim}"
        )


def _take_gain(c: Config, found: Weights, name: str, file: str, width: int) -> None:
    found.take(name, {f"{file}.weight": (width,)}, offset=c.gain_offset)


def _take_attention(c: Config, found: Weights, i: int) -> None:
    file, queries, keys = f"blk.{i}", c.heads * c.head_dim, c.kv_heads * c.head_dim
    rows = {"attn_q": queries, "attn_k": keys, "attn_v": keys}
    _take_gain(c, found, f"{i}.attention_gain", f"{file}.attn_norm", c.hidden)
    found.take(f"{i}.qkv", {f"{file}.{part}.weight": (n, c.hidden) for part, n in rows.items()})
    if c.qkv_bias:
        found.take(f"{i}.qkv_bias", {f"{file}.{part}.bias": (n,) for part, n in rows.items()})
    if c.qk_norm:
        _take_gain(c, found, f"{i}.q_gain", f"{file}.attn_q_norm", c.head_dim)
        _take_gain(c, found, f"{i}.k_gain", f"{file}.attn_k_norm", c.head_dim)
    found.take(f"{i}.attention_out", {f"{file}.attn_output.weight": (c.hidden, queries)})
    if c.post_norms:
        _take_gain(c, found, f"{i}.attention_out_gain", f"{file}.post_attention_norm", c.hidden)
        _take_gain(c, found, f"{i}.down_gain", f"{file}.post_ffw_norm", c.hidden)
    _take_gain(c, found, f"{i}.ffn_gain", f"{file}.ffn_norm", c.hidden)


def _take_feed_forward(c: Config, found: Weights, i: int) -> None:
    gates = {f"blk.{i}.ffn_{part}.weight": (c.ffn, c.hidden) for part in ("gate", "up")}
    found.take(f"{i}.gate_up", gates)
    found.take(f"{i}.down", {f"blk.{i}.ffn_down.weight": (c.hidden, c.ffn)})


def _take_experts(c: Config, found: Weights, i: int) -> None:
    """All experts' rows one after the other: gate of each, then up of each. A file has one tensor for all experts, or
    one for each."""
    sizes = {"gate": (c.ffn, c.hidden), "up": (c.ffn, c.hidden), "down": (c.hidden, c.ffn)}

    def parts(*kinds: str) -> dict[str, tuple[int, ...]]:
        if found.has(f"blk.{i}.ffn_{kinds[0]}_exps.weight"):
            return {f"blk.{i}.ffn_{kind}_exps.weight": (c.experts, *sizes[kind]) for kind in kinds}
        return {f"blk.{i}.ffn_{kind}.{e}.weight": sizes[kind] for kind in kinds for e in range(c.experts)}

    found.take(f"{i}.router", {f"blk.{i}.ffn_gate_inp.weight": (c.experts, c.hidden)})
    found.take(f"{i}.gate_up", parts("gate", "up"), one_type=True)
    found.take(f"{i}.down", parts("down"), one_type=True)


def forward(config: Config, w: Mapping[str, Any], cache: Cache, *, rows: int, parts: int) -> Any:
    """Runs the ids history[position : position + rows] through all layers and keeps their keys and values.

    parts    how many ways attention splits its keys
    returns  (L, K) float32, the last layer's output; rows past state.rows are padding
    """
    x = ops.embed(w["embedding"], cache.history, cache.state, rows=rows, scale=config.embedding_scale)  # (L,K)
    for i in range(config.layers):
        x = _attention(config, w, cache, i, x, parts)
        x = feed_forward(config, w, i, x)
    return x


def _attention(c: Config, w: Mapping[str, Any], cache: Cache, i: int, x: Any, parts: int) -> Any:
    kv, pages, state, table = cache.layers[i], cache.pages, cache.state, cache.tables[i]
    extra, how = rope_options(c, w, cache, i)
    gain, projections = w[f"{i}.attention_gain"], runs(w, f"{i}.qkv")
    if len(projections) == 1:
        q = ops.norm_qkv(projections[0], x, gain, table, kv, pages, state, *extra, **how)  # (L,H,D)
    else:
        qkv = joined(projections, x, gain, c.rms_eps)
        q = ops.rope_write(qkv, table, kv, pages, state, *extra, **how)
    acc, stats = ops.attend(
        q, kv, pages, state, table if cache.keys == "unroped" else None,
        parts=parts, scale=c.attention_scale, window=c.window(i), pairs=c.rope_pairs,
    )  # fmt: skip
    return attention_out(c, w, i, acc, stats, x)


def rope_options(c: Config, w: Mapping[str, Any], cache: Cache, i: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The last arguments of `rope_write` and its options."""
    extra = w.get(f"{i}.qkv_bias"), w.get(f"{i}.q_gain"), w.get(f"{i}.k_gain")
    return extra, {
        "heads": c.heads, "kv_heads": c.kv_heads, "eps": c.rms_eps, "pairs": c.rope_pairs, "keys": cache.keys,
    }  # fmt: skip


def attention_out(c: Config, w: Mapping[str, Any], i: int, acc: Any, stats: Any, x: Any) -> Any:
    """x plus the output projection of what `attend` returned."""
    if not c.post_norms:
        return ops.attend_project(w[f"{i}.attention_out"], acc, stats, x)  # (L,K)
    y = ops.attend_project(w[f"{i}.attention_out"], acc, stats)
    return ops.norm_add(y, w[f"{i}.attention_out_gain"], x, eps=c.rms_eps)


def feed_forward(c: Config, w: Mapping[str, Any], i: int, x: Any) -> Any:
    """x plus layer i's feed-forward part."""
    return (_experts if c.experts else _feed_forward)(c, w, i, x)


def _feed_forward(c: Config, w: Mapping[str, Any], i: int, x: Any) -> Any:
    gain, projections = w[f"{i}.ffn_gain"], runs(w, f"{i}.gate_up")
    if len(projections) == 1:
        hidden = ops.norm_gate_up(projections[0], x, gain, kind=c.activation, eps=c.rms_eps)  # (L,F)
    else:
        hidden = ops.glu(joined(projections, x, gain, c.rms_eps), kind=c.activation)
    if not c.post_norms:
        return ops.project(w[f"{i}.down"], hidden, x)  # (L,K)
    return ops.norm_add(ops.project(w[f"{i}.down"], hidden), w[f"{i}.down_gain"], x, eps=c.rms_eps)


def joined(projections: list[Any], x: Any, gain: Any, eps: float) -> Any:
    """The outputs of a projection whose rows have several types."""
    first, *others = (ops.norm_linear(part, x, gain, eps=eps) for part in projections)
    for other in others:
        first = ops.join(first, other)
    return first


def _experts(c: Config, w: Mapping[str, Any], i: int, x: Any) -> Any:
    gain = w[f"{i}.ffn_gain"]
    scores = ops.norm_linear(w[f"{i}.router"], x, gain, eps=c.rms_eps)  # (L,E)
    expert, gate = ops.router(scores, k=c.experts_used, normalize=c.normalize_gates)  # (L,R)
    hidden = ops.expert_gate_up(
        w[f"{i}.gate_up"], x, gain, expert, experts=c.experts, kind=c.activation, eps=c.rms_eps
    )  # (L,R,F)
    return ops.expert_down(w[f"{i}.down"], hidden, expert, gate, x)  # (L,K)
