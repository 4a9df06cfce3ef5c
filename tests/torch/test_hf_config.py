"""config.json against transformers: each number, for files with keys left out, and what it calls its tensors."""

import json

import pytest
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3MoeConfig,
)  # fmt: skip

from webxpu.formats.tensor_info import TensorInfo
from webxpu.llm import models
from webxpu.llm.hf_config import config_from_hf, names_of

CONFIGS = 200
CLASSES = {
    "llama": LlamaConfig, "mistral": MistralConfig, "qwen2": Qwen2Config, "qwen3": Qwen3Config,
    "qwen3_moe": Qwen3MoeConfig, "gemma3_text": Gemma3TextConfig,
}  # fmt: skip


def drawn(rng, model_type):
    """What a file may say: sizes always, the rest at times, in the old spelling or the new."""
    kv_heads, group = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    values = {
        "model_type": model_type, "num_attention_heads": kv_heads * group,
        "hidden_size": kv_heads * group * 2 * int(rng.integers(1, 20)), "num_hidden_layers": int(rng.integers(1, 40)),
        "intermediate_size": int(rng.integers(1, 999)), "vocab_size": int(rng.integers(3, 999)),
        "max_position_embeddings": int(rng.integers(1, 9999)), "rms_norm_eps": float(rng.choice([1e-5, 1e-6])),
    }  # fmt: skip
    maybe = {
        "num_key_value_heads": kv_heads, "head_dim": 2 * int(rng.integers(1, 99)), "hidden_act": "silu",
        "rope_theta": float(rng.integers(1, 10**6)), "tie_word_embeddings": bool(rng.integers(2)),
        "rope_parameters": {"rope_type": "default", "rope_theta": float(rng.integers(1, 10**6))},
        "sliding_window": None if rng.integers(2) else int(rng.integers(1, 9999)), "attention_dropout": 0.0,
    }  # fmt: skip
    if model_type == "gemma3_text":
        del maybe["hidden_act"], maybe["rope_parameters"]
        maybe |= {"rope_local_base_freq": float(rng.integers(1, 10**6)), "query_pre_attn_scalar": 77}
        maybe |= {"sliding_window_pattern": int(rng.integers(1, 7)), "sliding_window": int(rng.integers(1, 9999))}
    if model_type.startswith("qwen"):
        maybe |= {"use_sliding_window": bool(rng.integers(2)), "max_window_layers": int(rng.integers(0, 50))}
    values |= {key: value for key, value in maybe.items() if rng.random() < 0.6}
    if model_type == "qwen3_moe":
        values |= {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 96}
    if model_type in ("qwen2", "qwen3", "qwen3_moe", "gemma3_text"):
        values |= {"num_key_value_heads": kv_heads}
    elif model_type == "mistral" and "num_key_value_heads" not in values:
        values["num_attention_heads"], values["hidden_size"] = 16, 16 * 12
    return values


@pytest.mark.parametrize("model_type", CLASSES)
def test_random_configurations_are_transformers(rng, model_type):
    for _ in range(CONFIGS):
        values = json.loads(json.dumps(drawn(rng, model_type)))
        ours, theirs = config_from_hf(values, values["vocab_size"]), CLASSES[model_type].from_dict(dict(values))
        head_dim = getattr(theirs, "head_dim", None) or theirs.hidden_size // theirs.num_attention_heads
        context = theirs.max_position_embeddings
        ffn = theirs.moe_intermediate_size if model_type == "qwen3_moe" else theirs.intermediate_size
        assert (ours.hidden, ours.ffn, ours.layers) == (theirs.hidden_size, ffn, theirs.num_hidden_layers)
        window = getattr(theirs, "sliding_window", None) if model_type != "llama" else None
        kinds = getattr(theirs, "layer_types", None) or ["sliding_attention"] * ours.layers
        windows = [(window or 0) * (kind == "sliding_attention") for kind in kinds]
        assert [ours.window(i) for i in range(ours.layers)] == windows, values
        assert (ours.heads, ours.kv_heads) == (theirs.num_attention_heads, theirs.num_key_value_heads)
        assert (ours.head_dim, ours.context_length, ours.rms_eps) == (head_dim, context, theirs.rms_norm_eps)
        if model_type == "gemma3_text":
            local, full = (theirs.rope_parameters[f"{kind}_attention"]["rope_theta"] for kind in ("sliding", "full"))
            assert (ours.local_rope_base, ours.rope_base) == (local, full), values
            assert ours.attention_scale == theirs.query_pre_attn_scalar**-0.5
        else:
            assert ours.rope_base == theirs.rope_parameters["rope_theta"], values


@pytest.mark.parametrize(
    "kind", [LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM, Gemma3ForCausalLM]
)
def test_the_tensors_of_a_model_are_those_that_transformers_saves(kind):
    config = (Gemma3TextConfig if kind is Gemma3ForCausalLM else kind.config_class)(
        hidden_size=16, intermediate_size=12, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=4, vocab_size=16, max_position_embeddings=32, tie_word_embeddings=False,
    )  # fmt: skip
    state = kind(config).state_dict()
    ours = config_from_hf(config.to_dict(), 16)
    asked = []

    class Table(dict):
        def get(self, name):
            asked.append(name)
            return TensorInfo(name, "f32", tuple(state[name].shape), 0, 0, "f")

        def __contains__(self, name):
            return name in state

    models.find(ours.architecture).weights(ours, Table(), names_of(ours.architecture))
    assert set(asked) == set(state)
