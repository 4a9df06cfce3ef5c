"""Hugging Face's config.json, and the names that its files give to tensors.

https://github.com/huggingface/transformers/blob/v4.57.0/src/transformers/models/llama/configuration_llama.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from webxpu.errors import FormatError, Unsupported
from webxpu.formats.json_text import read_json
from webxpu.formats.tensor_info import TensorInfo
from webxpu.formats.window import ReadRange
from webxpu.llm.config import Config, Keys

CONFIG_NAME = "config.json"
# A configuration is a few kilobytes; those that list every layer, or a vocabulary of labels, stay under this too.
MAX_CONFIG_BYTES = 1024 * 1024
MAX_CONFIG_VALUES = 100_000

# What transformers takes where a key is missing, by model_type, where that is no number of another key.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {"num_key_value_heads": 8, "sliding_window": 4096},
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
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_LAYER = re.compile(r"blk\.(\d+)\.(.*)")


async def read_config(read_range: ReadRange, *, name: str = CONFIG_NAME) -> dict[str, Any]:
    """The object in a config.json. Raises FormatError for what is none."""
    return await read_json(read_range, name=name, most_bytes=MAX_CONFIG_BYTES, most=MAX_CONFIG_VALUES)


def model_type_of(values: Mapping[str, Any]) -> str:
    """`model_type`. Raises FormatError where it is missing, Unsupported for one that no model file computes."""
    name = values.get("model_type")
    if not isinstance(name, str) or not name:
        raise FormatError(f"{CONFIG_NAME}: model_type must be a text, got {name!r}")
    if name not in _DEFAULTS:
        raise Unsupported(f"{CONFIG_NAME}: model_type must be one of {', '.join(sorted(_DEFAULTS))}, got {name!r}")
    return name


def config_from_hf(values: Mapping[str, Any], vocab: int) -> Config:
    """The configuration in a config.json: the one of the same model's GGUF file but for `rope_pairs`, "half".

    vocab   the number of rows of the embedding

    A window that mistral's attention slides shortens context_length to itself: so far it hides nothing.
    Raises FormatError, naming the key, where a value is missing or contradicts another; Unsupported where the file
    asks for something that the llama forward does not compute.
    """
    defaults = _DEFAULTS[model_type_of(values)]
    read = Keys({**defaults, **values}, f"{CONFIG_NAME}: ")
    hidden = read.count("hidden_size")
    heads = read.count("num_attention_heads")
    kv_heads = read.count("num_key_value_heads", default=heads)
    if heads % kv_heads:
        read.clash("num_attention_heads", f"a multiple of num_key_value_heads {kv_heads}", heads)
    if not read.has("head_dim") and hidden % heads:
        read.clash("hidden_size", f"a multiple of num_attention_heads {heads}", hidden)
    head_dim = read.count("head_dim", default=hidden // heads)
    if head_dim % 2:
        read.clash("head_dim", "even, since rope turns pairs of channels", head_dim)
    if read.count("vocab_size", default=vocab) != vocab:
        read.clash("vocab_size", f"the {vocab} rows of the embedding", read.count("vocab_size"))
    context = read.count("max_position_embeddings")
    if "sliding_window" in defaults:
        context = min(context, read.count("sliding_window", default=context))
    for key, expected in {"hidden_act": "silu", "attention_bias": False, "mlp_bias": False}.items():
        read.must_equal(key, expected)
    if read.has("quantization_config"):
        _refuse("quantization_config", "missing", values["quantization_config"])
    return Config(
        architecture="llama",
        layers=read.count("num_hidden_layers"),
        hidden=hidden,
        ffn=read.count("intermediate_size"),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocab=vocab,
        rope_base=_rope_base(values),
        rms_eps=read.positive("rms_norm_eps"),
        context_length=context,
        rope_pairs="half",
    )


def _rope_base(values: Mapping[str, Any]) -> float:
    """rope_parameters.rope_theta, else rope_theta, else 10000; nothing may stretch the frequencies."""
    read = Keys(values, f"{CONFIG_NAME}: ")
    read.must_equal("partial_rotary_factor", 1.0)
    base = read.positive("rope_theta", default=10000.0)
    for key in ("rope_scaling", "rope_parameters"):  # two names of one thing, the newer one last
        settings = values.get(key)
        if settings is None:
            continue
        if not isinstance(settings, dict):
            read.clash(key, "an object", settings)
        for part, setting in settings.items():
            if isinstance(setting, dict):
                _refuse(f"{key}.{part}", "the same for all layers", setting)
        inner = Keys(settings, f"{CONFIG_NAME}: {key}.")
        for kind in ("type", "rope_type"):
            inner.must_equal(kind, "default")
        inner.must_equal("partial_rotary_factor", 1.0)
        base = inner.positive("rope_theta", default=base)
    return base


def _refuse(key: str, rule: str, got: object) -> NoReturn:
    raise Unsupported(f"{CONFIG_NAME}: {key} must be {rule} for this version of webxpu, got {str(got)[:80]!r}")


def file_name(gguf_name: str) -> str:
    """What a Hugging Face file calls the tensor that GGUF files call `gguf_name`."""
    layer = _LAYER.fullmatch(gguf_name)
    prefix, rest = (f"model.layers.{layer[1]}.", layer[2]) if layer else ("", gguf_name)
    return f"{prefix}{_NAMES[rest.removesuffix('.weight')]}.weight"


def model_tensors(values: Mapping[str, Any], tensors: Mapping[str, TensorInfo]) -> dict[str, TensorInfo]:
    """The tensors of a file that a forward needs: without the tables of rope that old files carry.

    A tied model's file without lm_head.weight is complete: the forward multiplies by the embedding. Where the file has
    one, it is used, as transformers does. Raises FormatError for an untied model without it.
    """
    if not values.get("tie_word_embeddings", False) and "lm_head.weight" not in tensors:
        raise FormatError("weights: the file has no tensor 'lm_head.weight', and tie_word_embeddings is not true")
    return {name: info for name, info in tensors.items() if not name.endswith(".rotary_emb.inv_freq")}


def vocab_of(tensors: Mapping[str, TensorInfo]) -> int:
    """Rows of the embedding. Raises FormatError where the file has none."""
    embedding = tensors.get("model.embed_tokens.weight")
    if embedding is None or len(embedding.shape) != 2:
        found = "none" if embedding is None else list(embedding.shape)
        raise FormatError(f"weights: model.embed_tokens.weight must be a matrix, got {found}")
    return embedding.shape[0]
