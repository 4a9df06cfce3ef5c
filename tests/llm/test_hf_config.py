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
from webxpu.formats.json_text import read_json
from webxpu.formats.tensor_info import TensorInfo
from webxpu.llm.config import config_from_gguf
from webxpu.llm.hf_config import (
    config_from_hf,
    model_tensors,
    names_of,
    vocab_of,
)
from webxpu.ops.rope import YarnScaling, llama3_freq_factors

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


def windows(**values: Any) -> tuple[int, ...]:
    return config_from_hf(changed(**values), 49152).windows


def test_mistral_has_its_own_defaults_and_a_window_in_every_layer() -> None:
    mistral = {"model_type": "mistral", "num_attention_heads": 16, "num_key_value_heads": ...}
    found = config_from_hf(changed(**mistral), 49152)
    assert (found.architecture, found.kv_heads, found.context_length) == ("mistral", 8, 8192)
    assert found.windows == (4096,) * 30
    assert windows(**mistral, sliding_window=None) == ()
    assert windows(**mistral, sliding_window=100) == (100,) * 30
    assert windows(**mistral, sliding_window=8192) == (8192,) * 30
    assert windows(sliding_window=100) == ()  # llama attends to everything


def test_qwens_window_is_one_of_the_later_layers_and_only_where_it_is_used() -> None:
    qwen = {"model_type": "qwen2", "sliding_window": 100, "num_attention_heads": 32, "num_key_value_heads": ...}
    assert windows(**qwen) == ()
    assert windows(**qwen, use_sliding_window=True) == (0,) * 28 + (100,) * 2
    assert windows(**qwen, use_sliding_window=True, max_window_layers=7) == (0,) * 7 + (100,) * 23
    assert windows(**qwen, use_sliding_window=True, max_window_layers=0, sliding_window_pattern=2) == (100,) * 30
    for wrong in (-1, "7", True, None):
        with pytest.raises(FormatError, match=rf"^config\.json: max_window_layers must be a whole .*, got {wrong!r}$"):
            windows(**qwen, use_sliding_window=True, max_window_layers=wrong)
    kinds = ["sliding_attention", "full_attention"] * 15
    assert windows(**qwen, use_sliding_window=True, layer_types=kinds) == (100, 0) * 15
    assert windows(**qwen, use_sliding_window=True, layer_types=["full_attention"] * 30) == ()


def test_a_mixture_of_qwen3_has_its_window_in_every_layer() -> None:
    moe = {"model_type": "qwen3_moe", "sliding_window": 100, "num_attention_heads": 32, "num_key_value_heads": 4}
    assert windows(**moe, **EXPERTS) == ()
    assert windows(**moe, **EXPERTS, use_sliding_window=True) == (100,) * 30
    assert windows(**moe, **EXPERTS, use_sliding_window=True, max_window_layers=20) == (100,) * 30
    kinds = ["sliding_attention", "full_attention"] * 15
    with pytest.raises(Unsupported, match=r"^config\.json: layer_types must be sliding_attention for every layer for"):
        windows(**moe, **EXPERTS, use_sliding_window=True, layer_types=kinds)


EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 768}
# google/gemma-3-270m's, the numbers that matter.
GEMMA = {
    "model_type": "gemma3_text", "hidden_size": 640, "num_attention_heads": 4, "num_key_value_heads": 1,
    "head_dim": 256, "num_hidden_layers": 18, "intermediate_size": 2048, "hidden_act": ...,
    "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 256, "rope_theta": 1000000.0,
    "rope_local_base_freq": 10000.0, "sliding_window": 512, "max_position_embeddings": 32768,
    "attn_logit_softcapping": None, "final_logit_softcapping": None, "_sliding_window_pattern": 6,
}  # fmt: skip


def test_a_gemma_is_what_its_gguf_file_says_but_for_gains_that_lack_their_1() -> None:
    found = config_from_hf(changed(**GEMMA), 49152)
    assert (found.architecture, found.gain_offset, found.attention_scale) == ("gemma3", 1.0, 1 / 16)
    assert (found.rope_base, found.local_rope_base) == (1e6, 1e4)
    metadata = {
        "general.architecture": "gemma3", "gemma3.context_length": 32768, "gemma3.embedding_length": 640,
        "gemma3.block_count": 18, "gemma3.feed_forward_length": 2048, "gemma3.attention.head_count": 4,
        "gemma3.attention.layer_norm_rms_epsilon": 1e-05, "gemma3.attention.key_length": 256,
        "gemma3.attention.value_length": 256, "gemma3.rope.freq_base": 1000000.0,
        "gemma3.attention.sliding_window": 512, "gemma3.attention.head_count_kv": 1,
    }  # fmt: skip
    gguf = config_from_gguf(metadata, 49152)
    assert dataclasses.replace(found, gain_offset=0.0, attention_scale=None) == gguf
    short = dict.fromkeys(("head_dim", "rope_theta", "rope_local_base_freq", "query_pre_attn_scalar"), ...)
    assert config_from_hf(changed(**GEMMA | short), 49152) == found


@pytest.mark.parametrize("more", [{}, {"layer_types": [*["sliding_attention"] * 5, "full_attention"] * 3}])
def test_a_gemmas_window_of_the_whole_context_keeps_its_local_rope(more: dict[str, Any]) -> None:
    found = config_from_hf(changed(**GEMMA | {"sliding_window": 32768} | more), 49152)
    assert [i for i in range(18) if not found.rope_is_local(i)] == [5, 11, 17]


def test_gemmas_two_ropes_are_read_in_the_old_spelling_and_the_new() -> None:
    scaled = {"rope_type": "linear", "factor": 8.0}
    old = config_from_hf(changed(**GEMMA | {"rope_scaling": scaled}), 49152)
    assert old.rope_factors == (8.0,) * 128
    full = {**scaled, "rope_theta": 1e6}
    both = {"full_attention": full, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
    new = changed(
        **GEMMA | {"rope_theta": ..., "rope_local_base_freq": ..., "rope_scaling": ..., "rope_parameters": both}
    )
    assert config_from_hf(new, 49152) == old
    both["sliding_attention"] = {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}
    with pytest.raises(
        Unsupported, match=r"^config\.json: rope_parameters\.sliding_attention\.rope_type must be 'default'"
    ):
        config_from_hf(new, 49152)


def test_qwen3_has_norms_of_heads_of_their_own_width_and_its_mixtures_gates_are_normalized_where_asked() -> None:
    qwen3 = config_from_hf(changed(model_type="qwen3", num_attention_heads=32, num_key_value_heads=8), 49152)
    assert (qwen3.architecture, qwen3.qk_norm, qwen3.head_dim) == ("qwen3", True, 128)
    values = changed(model_type="qwen3_moe", num_attention_heads=8, num_key_value_heads=4, **EXPERTS)
    moe = config_from_hf(values, 49152)
    assert (moe.architecture, moe.experts, moe.experts_used, moe.ffn) == ("qwen3moe", 8, 2, 768)
    assert moe.normalize_gates is False
    assert config_from_hf({**values, "norm_topk_prob": True}, 49152).normalize_gates is True
    del values["num_experts"]
    assert config_from_hf({**values, "num_local_experts": 16}, 49152).experts == 16  # as transformers 5 writes it
    with pytest.raises(FormatError, match=r"^config\.json: num_experts is missing$"):
        config_from_hf(values, 49152)
    assert config_from_hf(changed(model_type="qwen2", num_key_value_heads=3), 49152).qkv_bias is True


LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip


def test_scalings_of_rope_are_read_in_either_spelling() -> None:
    factors = llama3_freq_factors(
        64, base=100000.0, factor=8, low_freq_factor=1, high_freq_factor=4, original_context_length=8192
    )
    for key in ("rope_scaling", "rope_parameters"):
        found = config_from_hf(
            changed(rope_scaling=None, **{key: LLAMA3}) if key == "rope_parameters" else changed(rope_scaling=LLAMA3),
            49152,
        )
        assert found.rope_factors == tuple(factors.tolist())
    assert config_from_hf(changed(rope_scaling={"type": "linear", "factor": 2}), 49152).rope_factors == (2.0,) * 32
    yarn = {"rope_type": "yarn", "factor": 4.0}
    assert config_from_hf(changed(rope_scaling=yarn), 49152).rope_scaling == YarnScaling(4.0, 8192)
    more = {"original_max_position_embeddings": 77, "beta_fast": 20, "beta_slow": 2, "attention_factor": 1.5}
    found = config_from_hf(changed(rope_scaling={**yarn, **more, "truncate": True}), 49152).rope_scaling
    assert found == YarnScaling(4.0, 77, 20.0, 2.0, 1.5)


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
        (
            {**GEMMA, "rope_parameters": {"sliding_attention": 5}},
            "rope_parameters.sliding_attention must be an object, got 5",
        ),
        (
            {**GEMMA, "rope_parameters": {"full_attention": []}},
            "rope_parameters.full_attention must be an object, got .*",
        ),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be a whole number of at least 1, got 0"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers must be at most 4096, got 1000000000"),
        ({"head_dim": 1 << 40}, "head_dim must be at most 4096, got 1099511627776"),
        ({"num_hidden_layers": "30"}, "num_hidden_layers must be a whole number of at least 1, got '30'"),
        ({"num_key_value_heads": 2}, "num_attention_heads must be a multiple of num_key_value_heads 2, got 9"),
        ({"hidden_size": 577}, "hidden_size must be a multiple of num_attention_heads 9, got 577"),
        ({"head_dim": 63}, "head_dim must be even, since rope turns pairs of channels, got 63"),
        ({"vocab_size": 49153}, "vocab_size must be the 49152 rows of the embedding, got 49153"),
        ({"rope_theta": 0}, "rope_theta must be a number above 0, got 0"),
        ({"rope_theta": float("inf")}, "rope_theta must be a number above 0, got inf"),
        ({"rope_parameters": {"rope_theta": "x"}}, "rope_parameters.rope_theta must be a number above 0, got 'x'"),
        ({"rope_parameters": [1]}, r"rope_parameters must be an object, got \[1\]"),
        ({"rope_scaling": {"type": "linear"}}, "rope_scaling.factor is missing"),
        ({"rope_scaling": {"type": "linear", "factor": 0.5}}, "rope_scaling.factor must be at least 1, got 0.5"),
        (
            {"rope_scaling": {**LLAMA3, "low_freq_factor": 4}},
            "rope_scaling.low_freq_factor must be below .*4.0, got 4.0",
        ),
        (
            {"model_type": "mistral", "layer_types": ["full_attention"]},
            r"layer_types must be a list of 30 texts, got .*",
        ),
        ({"model_type": "mistral", "use_sliding_window": 1}, "use_sliding_window must be true or false, got 1"),
        ({"model_type": "qwen3_moe", **EXPERTS, "num_experts": ...}, "num_experts is missing"),
        (
            {"model_type": "qwen3_moe", **EXPERTS, "num_experts": 10**9},
            "num_experts must be at most 4096, got 1000000000",
        ),
        ({"model_type": "qwen3_moe", **EXPERTS, "num_experts": 1}, "num_experts_per_tok must be at most .* 1, got 2"),
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
        ({"model_type": "gemma2"}, "model_type must be one of gemma3_text, llama, .*, qwen3_moe, got 'gemma2'"),
        ({**GEMMA, "attn_logit_softcapping": 50.0}, "attn_logit_softcapping must be missing for .*, got 50.0"),
        ({**GEMMA, "final_logit_softcapping": 30.0}, "final_logit_softcapping must be missing for .*, got 30.0"),
        ({**GEMMA, "use_bidirectional_attention": True}, "use_bidirectional_attention must be False for .*, got True"),
        ({**GEMMA, "hidden_activation": "silu"}, "hidden_activation must be 'gelu_pytorch_tanh' for .*, got 'silu'"),
        ({**GEMMA, "layer_types": ["chunked_attention"] * 18}, "layer_types must be full_attention or .*'chunked_att"),
        (
            {"model_type": "qwen3_moe", **EXPERTS, "num_key_value_heads": 3, "decoder_sparse_step": 2},
            "decoder_sparse_step must be 1 ",
        ),
        (
            {"model_type": "qwen3_moe", **EXPERTS, "num_key_value_heads": 3, "mlp_only_layers": [3]},
            r"mlp_only_layers must be \[\] ",
        ),
        ({"num_experts": 8}, "num_experts must be 0 for .*, got 8"),
        ({"num_key_value_heads": [3, 1]}, "num_key_value_heads differs between layers"),
        ({"hidden_act": "gelu"}, "hidden_act must be 'silu' for this .*, got 'gelu'"),
        ({"attention_bias": True}, "attention_bias must be False for this .*, got True"),
        ({"mlp_bias": True}, "mlp_bias must be False for this .*, got True"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor must be 1.0 for this .*, got 0.5"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2}}, "rope_scaling.type must be one of .*, got 'dynamic'"),
        ({"rope_parameters": {"rope_type": "longrope"}}, "rope_parameters.rope_type must be one of .*, got 'longrope'"),
        ({"rope_scaling": {"type": "default", "mrope_section": [1]}}, "rope_scaling.mrope_section must be missing for"),
        ({"rope_scaling": {"type": "yarn", "factor": 2, "mscale": 0.7}}, "rope_scaling.mscale must be missing for"),
        ({"rope_scaling": {"type": "yarn", "factor": 2, "truncate": False}}, "rope_scaling.truncate must be True for"),
        (
            {"rope_scaling": {"type": "linear", "factor": 2}, "rope_parameters": {"rope_type": "default"}},
            "rope_scaling must be as rope_parameters is for",
        ),
        (
            {"rope_parameters": {"partial_rotary_factor": 0.5}},
            "rope_parameters.partial_rotary_factor must be 1.0 .*0.5",
        ),
        ({"rope_parameters": {"full_attention": {}}}, "rope_parameters.full_attention must be the same for all layers"),
        ({"quantization_config": {"bits": 4}}, "quantization_config must be missing for .*, got {'bits': 4}"),
    ],
)
def test_what_the_forward_does_not_compute_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(Unsupported, match=rf"^config\.json: {message}"):
        config_from_hf(changed(**change), 49152)


def test_every_tensor_of_a_llama_has_a_name_in_hugging_faces_files() -> None:
    named = names_of("llama")
    names = {named(name) for name in tiny.header().tensors}
    assert len(names) == len(tiny.header().tensors)
    assert named("blk.11.attn_q.weight") == "model.layers.11.self_attn.q_proj.weight"
    assert {"lm_head.weight", "model.norm.weight", "model.embed_tokens.weight"} <= names


def test_norms_after_a_layer_change_what_the_name_of_the_norm_before_it_is() -> None:
    assert names_of("llama")("blk.1.ffn_norm.weight") == "model.layers.1.post_attention_layernorm.weight"
    gemma = names_of("gemma3")
    assert gemma("blk.1.ffn_norm.weight") == "model.layers.1.pre_feedforward_layernorm.weight"
    assert gemma("blk.1.post_attention_norm.weight") == "model.layers.1.post_attention_layernorm.weight"
    assert gemma("blk.1.post_ffw_norm.weight") == "model.layers.1.post_feedforward_layernorm.weight"


def test_biases_experts_and_what_hugging_face_has_no_name_for() -> None:
    assert names_of("qwen2")("blk.1.attn_k.bias") == "model.layers.1.self_attn.k_proj.bias"
    moe = names_of("qwen3moe")
    assert moe("blk.1.ffn_up.7.weight") == "model.layers.1.mlp.experts.7.up_proj.weight"
    assert moe("blk.1.ffn_gate_inp.weight") == "model.layers.1.mlp.gate.weight"
    assert moe("blk.1.ffn_up_exps.weight") == "blk.1.ffn_up_exps.weight"


def info(name: str, *shape: int) -> TensorInfo:
    return TensorInfo(name, "f32", shape, 0, 4, "model.safetensors")


def test_a_tied_model_needs_no_head_of_its_own_and_old_tables_of_rope_are_left_out() -> None:
    inner = "model.layers.0.self_attn.rotary_emb.inv_freq"
    tensors = {name: info(name, 4, 2) for name in ("model.embed_tokens.weight", inner)}
    assert list(model_tensors({"tie_word_embeddings": True}, tensors)) == ["model.embed_tokens.weight"]
    for untied in ({}, {"tie_word_embeddings": False}):
        with pytest.raises(FormatError, match=r"^weights: the file has no tensor 'lm_head\.weight', and tie_word_emb"):
            model_tensors(untied, tensors)
    assert list(model_tensors({"model_type": "gemma3_text"}, tensors)) == ["model.embed_tokens.weight"]
    tensors["lm_head.weight"] = info("lm_head.weight", 4, 2)
    assert "lm_head.weight" in model_tensors({"tie_word_embeddings": True}, tensors)


def test_the_vocabulary_is_the_embeddings_rows() -> None:
    assert vocab_of({"model.embed_tokens.weight": info("e", 7, 2)}) == 7
    for tensors, got in ({}, "none"), ({"model.embed_tokens.weight": info("e", 7)}, r"\[7\]"):
        with pytest.raises(FormatError, match=rf"^weights: model\.embed_tokens\.weight must be a matrix, got {got}$"):
            vocab_of(tensors)


MAX_BYTES = 1 << 20


def parsed(data: bytes) -> dict[str, Any]:
    return asyncio.run(read_json(reader(data), name="config.json", most_bytes=MAX_BYTES, most=100_000))


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
        (b" " * MAX_BYTES + b"{}", f"must be at most {MAX_BYTES} bytes long, got {MAX_BYTES + 2}"),
    ],
)
def test_a_text_that_is_no_configuration_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=rf"^config\.json: {message}"):
        parsed(data)


def test_numbers_that_only_some_parsers_know_are_read() -> None:
    assert parsed(b'{"time_step_limit": [0.0, Infinity]}')["time_step_limit"][1] == float("inf")
