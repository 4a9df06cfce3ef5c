"""config.json becomes the configuration that the model's GGUF file gives, or an error that names the key.

tests/torch/test_hf_config.py compares it with transformers.
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from tests.formats.files import reader
from tests.llm import tiny
from tests.llm.test_config import SMOLLM2
from webxpu.errors import FormatError, Unsupported
from webxpu.formats.tensor_info import TensorInfo
from webxpu.llm.config import config_from_gguf
from webxpu.llm.hf_config import (
    MAX_CONFIG_BYTES,
    config_from_hf,
    file_name,
    model_tensors,
    read_config,
    vocab_of,
)

# What the config.json of SmolLM2-135M-Instruct says, of which SMOLLM2 was made.
SMOLLM2_HF: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 1,
    "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.041666666666666664,
    "intermediate_size": 1536, "is_llama_config": True, "max_position_embeddings": 8192, "mlp_bias": False,
    "model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3,
    "pad_token_id": 2, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_interleaved": False, "rope_scaling": None,
    "rope_theta": 100000, "tie_word_embeddings": True, "torch_dtype": "bfloat16", "use_cache": True,
    "vocab_size": 49152,
}  # fmt: skip


def changed(**changes: Any) -> dict[str, Any]:
    """SmolLM2's with other values; Ellipsis leaves a key out."""
    return {key: value for key, value in {**SMOLLM2_HF, **changes}.items() if value is not ...}


def test_config_json_gives_what_the_gguf_file_of_the_same_model_gives() -> None:
    found = config_from_hf(SMOLLM2_HF, 49152)
    assert found.rope_pairs == "half"
    assert found.rms_eps == 1e-05  # GGUF rounds it to float32
    gguf = config_from_gguf(SMOLLM2, 49152)
    assert gguf.rope_pairs == "adjacent"
    assert dataclasses.replace(found, rms_eps=gguf.rms_eps, rope_pairs="adjacent") == gguf


@pytest.mark.parametrize(
    ("change", "base"),
    [
        ({"rope_theta": ...}, 10000.0),
        ({"rope_theta": None, "rope_parameters": None}, 10000.0),
        ({"rope_theta": 5}, 5.0),
        ({"rope_parameters": {"rope_theta": 7.5, "rope_type": "default"}}, 7.5),
        ({"rope_theta": ..., "rope_parameters": {"rope_theta": 7.5}}, 7.5),
        ({"rope_parameters": {"rope_type": "default"}}, 100000.0),
        ({"rope_scaling": {"type": "default"}}, 100000.0),
    ],
)
def test_the_base_of_rope_is_that_of_rope_parameters_else_rope_theta_else_10000(change: Any, base: float) -> None:
    assert config_from_hf(changed(**change), 49152).rope_base == base


def test_keys_that_may_be_left_out_have_transformers_defaults() -> None:
    short = changed(num_key_value_heads=..., vocab_size=..., hidden_act=..., attention_bias=..., mlp_bias=...)
    assert config_from_hf(short, 49152).kv_heads == 9
    assert config_from_hf(changed(num_key_value_heads=None), 49152).kv_heads == 9
    assert config_from_hf(changed(head_dim=None), 49152).head_dim == 64
    assert config_from_hf(changed(head_dim=96), 49152).head_dim == 96
    assert config_from_hf(changed(head_dim=96, hidden_size=577), 49152).hidden == 577


def test_mistral_has_its_own_defaults_and_a_window_shortens_its_context() -> None:
    mistral = changed(model_type="mistral", num_attention_heads=16, num_key_value_heads=...)
    found = config_from_hf(mistral, 49152)
    assert (found.architecture, found.kv_heads, found.context_length) == ("llama", 8, 4096)
    assert config_from_hf({**mistral, "sliding_window": None}, 49152).context_length == 8192
    assert config_from_hf({**mistral, "sliding_window": 100}, 49152).context_length == 100
    assert config_from_hf({**mistral, "sliding_window": 10_000}, 49152).context_length == 8192
    assert config_from_hf(changed(sliding_window=100), 49152).context_length == 8192  # llama attends to everything


@pytest.mark.parametrize(
    "key",
    [
        "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings",
        "rms_norm_eps",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [..., None])
def test_a_missing_key_is_named(key: str, value: Any) -> None:
    with pytest.raises(FormatError, match=rf"^config\.json: {key} is missing$"):
        config_from_hf(changed(**{key: value}), 49152)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_hidden_layers": 0}, "num_hidden_layers must be a whole number of at least 1, got 0"),
        ({"num_hidden_layers": "30"}, "num_hidden_layers must be a whole number of at least 1, got '30'"),
        ({"num_key_value_heads": 2}, "num_attention_heads must be a multiple of num_key_value_heads 2, got 9"),
        ({"hidden_size": 577}, "hidden_size must be a multiple of num_attention_heads 9, got 577"),
        ({"head_dim": 63}, "head_dim must be even, since rope turns pairs of channels, got 63"),
        ({"vocab_size": 49153}, "vocab_size must be the 49152 rows of the embedding, got 49153"),
        ({"rope_theta": 0}, "rope_theta must be a number above 0, got 0"),
        ({"rope_theta": float("inf")}, "rope_theta must be a number above 0, got inf"),
        ({"rope_parameters": {"rope_theta": "x"}}, "rope_parameters.rope_theta must be a number above 0, got 'x'"),
        ({"rope_parameters": [1]}, r"rope_parameters must be an object, got \[1\]"),
        ({"rms_norm_eps": False}, "rms_norm_eps must be a number above 0, got False"),
        ({"model_type": ...}, "model_type must be a text, got None"),
        ({"model_type": ["llama"]}, r"model_type must be a text, got \['llama'\]"),
    ],
)
def test_a_value_that_is_wrong_or_contradicts_another_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=rf"^config\.json: {message}$"):
        config_from_hf(changed(**change), 49152)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "qwen3"}, "model_type must be one of llama, mistral, got 'qwen3'"),
        ({"num_key_value_heads": [3, 1]}, "num_key_value_heads differs between layers"),
        ({"hidden_act": "gelu"}, "hidden_act must be 'silu' for this .*, got 'gelu'"),
        ({"attention_bias": True}, "attention_bias must be False for this .*, got True"),
        ({"mlp_bias": True}, "mlp_bias must be False for this .*, got True"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor must be 1.0 for this .*, got 0.5"),
        ({"rope_scaling": {"type": "linear", "factor": 2}}, "rope_scaling.type must be 'default' for .*, got 'linear'"),
        ({"rope_parameters": {"rope_type": "llama3"}}, "rope_parameters.rope_type must be 'default' .*, got 'llama3'"),
        (
            {"rope_parameters": {"partial_rotary_factor": 0.5}},
            "rope_parameters.partial_rotary_factor must be 1.0 .*0.5",
        ),
        ({"rope_parameters": {"full_attention": {}}}, "rope_parameters.full_attention must be the same for all layers"),
        ({"quantization_config": {"bits": 4}}, "quantization_config must be missing for .*, got \"{'bits': 4}\""),
    ],
)
def test_what_the_forward_does_not_compute_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(Unsupported, match=rf"^config\.json: {message}"):
        config_from_hf(changed(**change), 49152)


def test_every_tensor_of_a_llama_has_a_name_in_hugging_faces_files() -> None:
    names = {file_name(name) for name in tiny.header().tensors}
    assert len(names) == len(tiny.header().tensors)
    assert file_name("blk.11.attn_q.weight") == "model.layers.11.self_attn.q_proj.weight"
    assert {"lm_head.weight", "model.norm.weight", "model.embed_tokens.weight"} <= names


def info(name: str, *shape: int) -> TensorInfo:
    return TensorInfo(name, "f32", shape, 0, 4, "model.safetensors")


def test_a_tied_model_needs_no_head_of_its_own_and_old_tables_of_rope_are_left_out() -> None:
    inner = "model.layers.0.self_attn.rotary_emb.inv_freq"
    tensors = {name: info(name, 4, 2) for name in ("model.embed_tokens.weight", inner)}
    assert list(model_tensors({"tie_word_embeddings": True}, tensors)) == ["model.embed_tokens.weight"]
    for untied in ({}, {"tie_word_embeddings": False}):
        with pytest.raises(FormatError, match=r"^weights: the file has no tensor 'lm_head\.weight', and tie_word_emb"):
            model_tensors(untied, tensors)
    tensors["lm_head.weight"] = info("lm_head.weight", 4, 2)
    assert "lm_head.weight" in model_tensors({"tie_word_embeddings": True}, tensors)


def test_the_vocabulary_is_the_embeddings_rows() -> None:
    assert vocab_of({"model.embed_tokens.weight": info("e", 7, 2)}) == 7
    for tensors, got in ({}, "none"), ({"model.embed_tokens.weight": info("e", 7)}, r"\[7\]"):
        with pytest.raises(FormatError, match=rf"^weights: model\.embed_tokens\.weight must be a matrix, got {got}$"):
            vocab_of(tensors)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"the text at byte 0 must be JSON, got .* \(bytes none\)"),
        (b"[1]", r"the text at byte 0 must be a JSON object, got an array \(bytes 5b 31 5d\)"),
        (b'{"a":1', r"the text at byte 6 must be JSON, got .* \(bytes none\)"),
        (b'{"a":1,"a":2}', r"the text at byte 1 must be without a name twice in one object, got 'a' \(bytes 22 61"),
        (b'{"a":"\xff"}', r"the text at byte 6 must be UTF-8, got invalid start byte \(bytes ff"),
        (b'{"a":' + b"[" * 40 + b"]" * 40 + b"}", "the text at byte 0 must be nested at most 32 deep, got more"),
        (b'{"a":[' + b"1," * 100_000 + b"1]}", "the text at byte 0 must be of at most 100000 values, got 100003"),
        (b" " * MAX_CONFIG_BYTES + b"{}", f"must be at most {MAX_CONFIG_BYTES} bytes long, got {MAX_CONFIG_BYTES + 2}"),
    ],
)
def test_a_text_that_is_no_configuration_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=rf"^config\.json: {message}"):
        asyncio.run(read_config(reader(data)))


def test_numbers_that_only_some_parsers_know_are_read() -> None:
    assert asyncio.run(read_config(reader(b'{"time_step_limit": [0.0, Infinity]}')))["time_step_limit"][1] == float(
        "inf"
    )
