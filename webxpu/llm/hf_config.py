"""Hugging Face's config.json, and the names that its files give to tensors.

https://github.com/huggingface/transformers/blob/v4.57.0/src/transformers/models/llama/configuration_llama.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from webxpu.errors import FormatError, Unsupported
from webxpu.formats.tensor_info import TensorInfo
from webxpu.llm import models
from webxpu.llm.config import MAX_COUNT, Config, Keys, Traits, common, experts_of, windows_by_pattern
from webxpu.ops.rope import YarnScaling, llama3_freq_factors

CONFIG_NAME = "config.json"

_QWEN_MOE = {"num_key_value_heads": 32, "use_sliding_window": False, "sliding_window": 4096}
_QWEN = {**_QWEN_MOE, "max_window_layers": 28}
# By model_type the architecture, and what transformers takes where a key is missing, where that is no number of
# another key.
_TYPES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "mistral": ("mistral", {"num_key_value_heads": 8, "sliding_window": 4096}),
    "qwen2": ("qwen2", _QWEN),
    "qwen3": ("qwen3", {**_QWEN, "head_dim": 128}),
    "qwen3_moe": ("qwen3moe", {**_QWEN_MOE, "num_key_value_heads": 4, "norm_topk_prob": False}),
    "gemma3_text": (
        "gemma3",
        {
            "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 4096, "sliding_window_pattern": 6,
            "rope_theta": 1e6, "rope_local_base_freq": 10000.0, "query_pre_attn_scalar": 256,
            "tie_word_embeddings": True,
        },
    ),
}  # fmt: skip
# Activations by transformers' names.
_ACTIVATIONS = {"silu": "silu", "gelu_tanh": "gelu_pytorch_tanh"}
# What only other models of these types have, with the value that changes nothing.
_NEUTRAL: dict[str, Any] = {
    "attention_bias": False, "mlp_bias": False, "partial_rotary_factor": 1.0, "attn_logit_softcapping": None,
    "final_logit_softcapping": None, "use_bidirectional_attention": False, "decoder_sparse_step": 1,
    "mlp_only_layers": [], "quantization_config": None,
}  # fmt: skip
# What a kind of rope reads besides its base. What else it has, changes something.
_ROPE_KEYS = {
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
    "yarn": ("factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow"),
}

# GGUF's name for a tensor, without its layer and `.weight`, and Hugging Face's.
_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "ffn_gate_inp": "mlp.gate",
}
# The same where attention and feed-forward have a norm at their end too.
_POST_NORMS = {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
_LAYER = re.compile(r"blk\.(\d+)\.(.*)")
# A name of older GGUF files: one tensor an expert.
_EXPERT = re.compile(r"ffn_(gate|up|down)\.(\d+)")


def model_type_of(values: Mapping[str, Any]) -> str:
    """`model_type`. Raises FormatError where it is missing, Unsupported for one that no model file computes."""
    name = values.get("model_type")
    if not isinstance(name, str) or not name:
        raise FormatError(f"{CONFIG_NAME}: model_type must be a text, got {name!r}")
    if name not in _TYPES:
        raise Unsupported(f"{CONFIG_NAME}: model_type must be one of {', '.join(sorted(_TYPES))}, got {name!r}")
    return name


def config_from_hf(values: Mapping[str, Any], vocab: int) -> Config:
    """The configuration in a config.json: the one of the same model's GGUF file but for `rope_pairs`, "half", and what
    norms' gains leave out.

    vocab   the number of rows of the embedding

    Raises FormatError, naming the key, where a value is missing or contradicts another; Unsupported where the file
    asks for something that the forward does not compute.
    """
    architecture, defaults = _TYPES[model_type_of(values)]
    traits: Traits = models.find(architecture).TRAITS
    merged = {**defaults, **values}
    read = Keys(merged, f"{CONFIG_NAME}: ")
    hidden = read.count("hidden_size")
    heads = read.count("num_attention_heads")
    kv_heads = read.count("num_key_value_heads", default=heads)
    if heads % kv_heads:
        read.clash("num_attention_heads", f"a multiple of num_key_value_heads {kv_heads}", heads)
    if not read.has("head_dim") and hidden % heads:
        read.clash("hidden_size", f"a multiple of num_attention_heads {heads}", hidden)
    head_dim = read.count("head_dim", default=hidden // heads, most=MAX_COUNT)
    if head_dim % 2:
        read.clash("head_dim", "even, since rope turns pairs of channels", head_dim)
    if read.count("vocab_size", default=vocab) != vocab:
        read.clash("vocab_size", f"the {vocab} rows of the embedding", read.count("vocab_size"))
    layers, context = read.count("num_hidden_layers", most=MAX_COUNT), read.count("max_position_embeddings")
    for key in ("hidden_act", "hidden_activation"):
        read.must_equal(key, _ACTIVATIONS[traits.activation])
    for key, value in _NEUTRAL.items():
        read.must_equal(key, value)
    scalar = read.optional("query_pre_attn_scalar")
    # transformers 5 writes another name than it reads in older files.
    experts = "num_local_experts" if read.has("num_local_experts") else "num_experts"
    return Config(
        architecture=architecture,
        layers=layers,
        hidden=hidden,
        ffn=read.count("moe_intermediate_size" if traits.experts else "intermediate_size"),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocab=vocab,
        rms_eps=read.positive("rms_norm_eps"),
        context_length=context,
        rope_pairs="half",
        windows=_windows(read, merged, defaults, layers) if "sliding_window" in defaults else (),
        attention_scale=None if scalar is None else scalar**-0.5,
        gain_offset=traits.gain_offset,
        normalize_gates=read.flag("norm_topk_prob", default=True),
        **_ropes(merged, traits, head_dim, context),
        **experts_of(read, traits, experts, "num_experts_per_tok"),
        **common(traits, hidden),
    )


def _windows(read: Keys, values: Mapping[str, Any], defaults: Mapping[str, Any], layers: int) -> tuple[int, ...]:
    """By layer_types where the file has them, else by a pattern, else from max_window_layers on; a type that has no
    default for one of these has the window in every layer, whatever they say. null is no window, and no missing key
    that has a default."""
    if not read.flag("use_sliding_window", default=True) or not read.has("sliding_window"):
        return ()
    window, kinds = read.count("sliding_window"), values.get("layer_types")
    if kinds is not None and (not isinstance(kinds, list) or len(kinds) != layers):
        read.clash("layer_types", f"a list of {layers} texts", kinds)
    if not {"sliding_window_pattern", "max_window_layers"} & defaults.keys():
        if kinds is not None and kinds != ["sliding_attention"] * layers:
            read.refuse("layer_types", "sliding_attention for every layer", kinds)
        return (window,) * layers
    if kinds is None and "sliding_window_pattern" in defaults:
        return windows_by_pattern(window, read.count("sliding_window_pattern"), layers)
    if kinds is None:
        first = values["max_window_layers"]
        if type(first) is not int or first < 0:
            read.clash("max_window_layers", "a whole number of at least 0", first)
        return tuple(0 if i < first else window for i in range(layers))
    for kind in kinds:
        if kind not in ("full_attention", "sliding_attention"):
            read.refuse("layer_types", "full_attention or sliding_attention", kind)
    found = tuple(window if kind == "sliding_attention" else 0 for kind in kinds)
    return found if any(found) else ()


def _ropes(values: Mapping[str, Any], traits: Traits, head_dim: int, context: int) -> dict[str, Any]:
    """The fields of a Config that say how rope turns: rope_parameters.rope_theta, else rope_theta, else 10000."""
    outer = Keys(values, f"{CONFIG_NAME}: ")
    old, new = values.get("rope_scaling"), values.get("rope_parameters")
    key, settings = ("rope_scaling", old) if new is None else ("rope_parameters", new)
    if settings is None:
        settings = {}
    settings = _object(outer, key, settings)
    if old is not None and old != settings:
        outer.refuse("rope_scaling", "as rope_parameters is", old)
    base = outer.positive("rope_theta", default=10000.0)
    found: dict[str, Any] = {}
    if traits.local_rope_base is not None:
        local = _object(outer, f"{key}.sliding_attention", settings.get("sliding_attention", {}))
        near = Keys(local, f"{CONFIG_NAME}: {key}.sliding_attention.")
        near.must_equal("rope_type", "default")
        local_base = outer.positive("rope_local_base_freq", default=traits.local_rope_base)
        found["local_rope_base"] = near.positive("rope_theta", default=local_base)
        if "full_attention" in settings:
            key = f"{key}.full_attention"
            settings = _object(outer, key, settings["full_attention"])
    for part, setting in settings.items():
        if isinstance(setting, dict):
            outer.refuse(f"{key}.{part}", "the same for all layers", setting)
    return {**found, **_rope(Keys(settings, f"{CONFIG_NAME}: {key}."), settings, base, head_dim, context)}


def _object(read: Keys, key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        read.clash(key, "an object", value)
    return value


def _rope(read: Keys, settings: Mapping[str, Any], base: float, d: int, context: int) -> dict[str, Any]:
    """The base and what stretches the frequencies, from one object of settings."""
    name = "rope_type" if "rope_type" in settings else "type"
    kind = read.text(name, tuple(_ROPE_KEYS))
    for key in settings:
        if key not in ("rope_type", "type", "rope_theta", *_ROPE_KEYS[kind]):
            read.must_equal(key, {"partial_rotary_factor": 1.0, "truncate": True}.get(key))
    base = read.positive("rope_theta", default=base)
    if kind == "default":
        return {"rope_base": base}
    factor = read.positive("factor")
    if factor < 1:
        read.clash("factor", "at least 1", factor)
    if kind == "linear":
        return {"rope_base": base, "rope_factors": (factor,) * (d // 2)}
    length = read.count("original_max_position_embeddings", default=context)
    if kind == "yarn":
        fast, slow = read.positive("beta_fast", default=32.0), read.positive("beta_slow", default=1.0)
        return {
            "rope_base": base,
            "rope_scaling": YarnScaling(factor, length, fast, slow, read.optional("attention_factor")),
        }
    low, high = read.positive("low_freq_factor"), read.positive("high_freq_factor")
    if low >= high:
        read.clash("low_freq_factor", f"below high_freq_factor {high}", low)
    factors = llama3_freq_factors(
        d, base=base, factor=factor, low_freq_factor=low, high_freq_factor=high, original_context_length=length
    )
    return {"rope_base": base, "rope_factors": tuple(factors.tolist())}


def names_of(architecture: str) -> Callable[[str], str]:
    """What Hugging Face's files of an architecture call the tensor that GGUF files call by the name that is given. A
    name of which they have no counterpart stays as it is."""
    traits: Traits = models.find(architecture).TRAITS
    names = {**_NAMES, **(_POST_NORMS if traits.post_norms else {})}

    def name_of(gguf_name: str) -> str:
        stem, _, kind = gguf_name.rpartition(".")
        layer = _LAYER.fullmatch(stem)
        prefix, rest = (f"model.layers.{layer[1]}.", layer[2]) if layer else ("", stem)
        expert = _EXPERT.fullmatch(rest)
        if expert:
            return f"{prefix}mlp.experts.{expert[2]}.{expert[1]}_proj.{kind}"
        return f"{prefix}{names[rest]}.{kind}" if rest in names else gguf_name

    return name_of


def model_tensors(values: Mapping[str, Any], tensors: Mapping[str, TensorInfo]) -> dict[str, TensorInfo]:
    """The tensors of a file that a forward needs: without the tables of rope that old files carry.

    A tied model's file without lm_head.weight is complete: the forward multiplies by the embedding. Where the file has
    one, it is used, as transformers does. Raises FormatError for an untied model without it.
    """
    _, defaults = _TYPES.get(str(values.get("model_type")), ("", {}))
    tied = values.get("tie_word_embeddings", defaults.get("tie_word_embeddings", False))
    if not tied and "lm_head.weight" not in tensors:
        raise FormatError("weights: the file has no tensor 'lm_head.weight', and tie_word_embeddings is not true")
    return {name: info for name, info in tensors.items() if not name.endswith(".rotary_emb.inv_freq")}


def vocab_of(tensors: Mapping[str, TensorInfo]) -> int:
    """Rows of the embedding. Raises FormatError where the file has none."""
    embedding = tensors.get("model.embed_tokens.weight")
    if embedding is None or len(embedding.shape) != 2:
        found = "none" if embedding is None else list(embedding.shape)
        raise FormatError(f"weights: model.embed_tokens.weight must be a matrix, got {found}")
    return embedding.shape[0]
