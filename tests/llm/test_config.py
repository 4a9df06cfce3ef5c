"""Metadata becomes a checked configuration, or an error that names the key."""

from __future__ import annotations

import numpy as np
import pytest

from webxpu.errors import FormatError, Unsupported
from webxpu.llm.config import Config, architecture_of, config_from_gguf

# What SmolLM2-135M-Instruct.Q4_1.gguf says of itself.
SMOLLM2 = {
    "general.architecture": "llama",
    "llama.block_count": 30,
    "llama.context_length": 8192,
    "llama.embedding_length": 576,
    "llama.feed_forward_length": 1536,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
    "llama.rope.freq_base": 100000.0,
    "llama.attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    "llama.vocab_size": 49152,
    "llama.rope.dimension_count": 64,
}


def test_the_metadata_of_smollm2_gives_its_configuration() -> None:
    assert config_from_gguf(SMOLLM2, 49152) == Config(
        architecture="llama", layers=30, hidden=576, ffn=1536, heads=9, kv_heads=3, head_dim=64, vocab=49152,
        rope_base=100000.0, rms_eps=9.999999747378752e-06, context_length=8192,
    )  # fmt: skip
    assert config_from_gguf(SMOLLM2, 49152).qkv_rows == 960


def test_keys_that_a_file_may_leave_out_have_llama_cpps_defaults() -> None:
    optional = ("head_count_kv", "freq_base", "vocab_size", "dimension_count")
    short = {key: value for key, value in SMOLLM2.items() if not key.endswith(optional)}
    config = config_from_gguf(short, 49152)
    assert (config.kv_heads, config.rope_base, config.head_dim) == (9, 10000.0, 64)
    assert config_from_gguf({**short, "llama.embedding_length": 288}, 49152).head_dim == 32


def test_the_head_width_is_the_files_own_where_it_differs_from_hidden_by_heads() -> None:
    wide = {**SMOLLM2, "llama.attention.key_length": 128, "llama.attention.value_length": 128}
    assert config_from_gguf({**wide, "llama.rope.dimension_count": 128}, 49152).head_dim == 128
    odd_heads = {**wide, "llama.rope.dimension_count": 128, "llama.attention.head_count": 7}
    assert config_from_gguf({**odd_heads, "llama.attention.head_count_kv": 7}, 49152).heads == 7


@pytest.mark.parametrize(
    "key",
    [
        "block_count",
        "context_length",
        "embedding_length",
        "feed_forward_length",
        "attention.head_count",
        "attention.layer_norm_rms_epsilon",
    ],
)
def test_a_missing_key_is_named(key: str) -> None:
    with pytest.raises(FormatError, match=rf"^metadata: llama\.{key} is missing$"):
        config_from_gguf({k: v for k, v in SMOLLM2.items() if k != f"llama.{key}"}, 49152)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"block_count": 0}, r"llama\.block_count must be a whole number of at least 1, got 0"),
        ({"block_count": 30.0}, r"llama\.block_count must be a whole number of at least 1, got 30\.0"),
        ({"block_count": True}, r"llama\.block_count must be a whole number of at least 1, got True"),
        ({"attention.head_count_kv": 2}, r"llama\.attention\.head_count must be a multiple of .*_kv 2, got 9"),
        ({"embedding_length": 577}, r"llama\.embedding_length must be a multiple of attention\.head_count 9, got 577"),
        ({"vocab_size": 49153}, r"llama\.vocab_size must be the 49152 rows of the embedding, got 49153"),
        ({"rope.freq_base": 0.0}, r"llama\.rope\.freq_base must be a number above 0, got 0\.0"),
        ({"rope.freq_base": float("nan")}, r"llama\.rope\.freq_base must be a number above 0, got nan"),
        ({"rope.freq_base": float("inf")}, r"llama\.rope\.freq_base must be a number above 0, got inf"),
        ({"attention.layer_norm_rms_epsilon": "x"}, r"rms_epsilon must be a number above 0, got 'x'"),
        (
            {"attention.key_length": 63, "attention.value_length": 63, "rope.dimension_count": 63},
            r"llama\.attention\.key_length must be even, since rope turns pairs of channels, got 63",
        ),
    ],
)
def test_a_value_that_is_wrong_or_contradicts_another_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(FormatError, match=message + "$"):
        config_from_gguf({**SMOLLM2, **{f"llama.{k}": v for k, v in change.items()}}, 49152)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attention.head_count_kv": np.array([3, 1])}, r"llama\.attention\.head_count_kv differs between layers"),
        ({"attention.value_length": 32}, r"llama\.attention\.value_length must be 64 for this .*, got 32"),
        ({"rope.dimension_count": 32}, r"llama\.rope\.dimension_count must be 64 for this .*, got 32"),
        ({"expert_count": np.array([0, 0])}, r"llama\.expert_count must be 0 for this .*, got array"),
        ({"expert_count": 8}, r"llama\.expert_count must be 0 for this .*, got 8"),
        ({"rope.scaling.type": "yarn"}, r"llama\.rope\.scaling\.type must be 'none' for this .*, got 'yarn'"),
        ({"rope.scale_linear": 2.0}, r"llama\.rope\.scale_linear must be 1\.0 for this .*, got 2\.0"),
    ],
)
def test_what_the_forward_does_not_compute_is_refused_by_name(change: dict[str, object], message: str) -> None:
    with pytest.raises(Unsupported, match="^metadata: " + message):
        config_from_gguf({**SMOLLM2, **{f"llama.{k}": v for k, v in change.items()}}, 49152)


@pytest.mark.parametrize("name", [None, "", 7])
def test_a_file_without_an_architecture_is_refused(name: object) -> None:
    with pytest.raises(FormatError, match=r"^metadata: general\.architecture must be a text, got "):
        architecture_of({"general.architecture": name})
