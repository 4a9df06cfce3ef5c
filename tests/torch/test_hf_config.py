"""config.json against transformers: each number, for files with keys left out, and what it calls its tensors."""

import json

import pytest
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from webxpu.formats.tensor_info import TensorInfo
from webxpu.llm.hf_config import config_from_hf, file_name
from webxpu.llm.models import llama

CONFIGS = 200
CLASSES = {"llama": LlamaConfig, "mistral": MistralConfig}


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
    values |= {key: value for key, value in maybe.items() if rng.random() < 0.6}
    if model_type == "mistral" and "num_key_value_heads" not in values:
        values["num_attention_heads"], values["hidden_size"] = 16, 16 * 12
    return values


@pytest.mark.parametrize("model_type", CLASSES)
def test_random_configurations_are_transformers(rng, model_type):
    for _ in range(CONFIGS):
        values = json.loads(json.dumps(drawn(rng, model_type)))
        ours, theirs = config_from_hf(values, values["vocab_size"]), CLASSES[model_type].from_dict(dict(values))
        head_dim = theirs.head_dim or theirs.hidden_size // theirs.num_attention_heads
        window = getattr(theirs, "sliding_window", None) if model_type == "mistral" else None
        context = min(theirs.max_position_embeddings, window or theirs.max_position_embeddings)
        assert (ours.hidden, ours.ffn, ours.layers) == (
            theirs.hidden_size, theirs.intermediate_size, theirs.num_hidden_layers,
        )  # fmt: skip
        assert (ours.heads, ours.kv_heads) == (theirs.num_attention_heads, theirs.num_key_value_heads)
        assert (ours.head_dim, ours.context_length, ours.rms_eps) == (head_dim, context, theirs.rms_norm_eps)
        assert ours.rope_base == theirs.rope_parameters["rope_theta"], values


@pytest.mark.parametrize("kind", [LlamaForCausalLM, MistralForCausalLM])
def test_the_tensors_of_a_model_are_those_that_transformers_saves(kind):
    config = kind.config_class(
        hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=16, max_position_embeddings=32, tie_word_embeddings=False,
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

    llama.weights(ours, Table(), file_name)
    assert set(asked) == set(state)
