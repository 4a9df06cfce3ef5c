"""Metadata becomes a checked configuration, or an error that names the key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from webxpu.errors import FormatError, Unsupported
from webxpu.llm import models
from webxpu.llm.config import Config, architecture_of, config_from_gguf
from webxpu.ops.rope import YarnScaling, llama3_freq_factors, rope_frequency_params, rope_table

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
        ({"block_count": 4097}, r"llama\.block_count must be at most 4096, got 4097"),
        ({"attention.key_length": 1 << 40}, r"llama\.attention\.key_length must be at most 4096, got 1099511627776"),
        ({"block_count": 30.0}, r"llama\.block_count must be a whole number of at least 1, got 30\.0"),
        ({"block_count": True}, r"llama\.block_count must be a whole number of at least 1, got True"),
        ({"attention.head_count_kv": 2}, r"llama\.attention\.head_count must be a multiple of .*_kv 2, got 9"),
        ({"embedding_length": 577}, r"llama\.embedding_length must be a multiple of attention\.head_count 9, got 577"),
        ({"vocab_size": 49153}, r"llama\.vocab_size must be the 49152 rows of the embedding, got 49153"),
        ({"rope.freq_base": 0.0}, r"llama\.rope\.freq_base must be a number above 0, got 0\.0"),
        ({"rope.freq_base": float("nan")}, r"llama\.rope\.freq_base must be a number above 0, got nan"),
        ({"rope.scaling.type": "linear"}, r"llama\.rope\.scaling\.factor is missing"),
        (
            {"rope.scaling.type": "yarn", "rope.scaling.factor": 0.5},
            r"llama\.rope\.scaling\.factor must be at least 1, got 0\.5",
        ),
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
        ({"rope.scaling.type": "su"}, r"llama\.rope\.scaling\.type must be one of none, linear, yarn for .*, got 'su'"),
        (
            {"rope.scaling.type": np.array([1, 2])},
            r"llama\.rope\.scaling\.type must be one of none, linear, yarn for .*",
        ),
        ({"rope.scaling.attn_factor": 1.1}, r"llama\.rope\.scaling\.attn_factor must be 1\.0 for this .*, got 1\.1"),
        ({"attn_logit_softcapping": 50.0}, r"llama\.attn_logit_softcapping must be missing for this .*, got 50\.0"),
        ({"final_logit_softcapping": 30.0}, r"llama\.final_logit_softcapping must be missing for this .*, got 30\.0"),
        ({"attention.sliding_window": 9}, r"llama\.attention\.sliding_window must be missing for this .*, got 9"),
        ({"attention.causal": False}, r"llama\.attention\.causal must be True for this .*, got False"),
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


def of(name: str, **changes: object) -> Config:
    """SmolLM2's numbers under another architecture's name; `__` in a key stands for a dot."""
    values = {key.replace("llama.", f"{name}."): value for key, value in SMOLLM2.items()}
    changed = {f"{name}.{key.replace('__', '.')}": value for key, value in changes.items()}
    return config_from_gguf({**values, "general.architecture": name, **changed}, 49152)


def test_only_llamas_converter_interleaves_the_halves_of_a_head() -> None:
    assert {name: models.find(name).TRAITS.pairs for name in models.architectures()} == {
        "gemma3": "half", "llama": "adjacent", "mistral": "adjacent", "qwen2": "half", "qwen3": "half",
        "qwen3moe": "half",
    }  # fmt: skip


def test_each_architecture_computes_what_its_name_means() -> None:
    qwen2, qwen3 = of("qwen2"), of("qwen3", attention__key_length=128, rope__dimension_count=128)
    assert (qwen2.qkv_bias, qwen2.qk_norm) == (True, False)
    assert (qwen3.qkv_bias, qwen3.qk_norm, qwen3.head_dim) == (False, True, 128)
    moe = of("qwen3moe", expert_count=8, expert_used_count=2, expert_feed_forward_length=768)
    assert (moe.experts, moe.experts_used, moe.ffn, moe.normalize_gates) == (8, 2, 768, True)
    gemma = of("gemma3", attention__sliding_window=512)
    assert (gemma.qk_norm, gemma.post_norms, gemma.activation) == (True, True, "gelu_tanh")
    assert (gemma.embedding_scale, gemma.attention_scale, gemma.gain_offset) == (24.0, None, 0.0)


def test_gemmas_pattern_and_the_base_of_its_local_layers_are_no_keys_of_its_files() -> None:
    gemma = of("gemma3", attention__sliding_window=512)
    assert [i for i in range(30) if gemma.window(i) == 0] == [5, 11, 17, 23, 29]
    assert {gemma.window(i) for i in range(30)} == {0, 512}
    np.testing.assert_array_equal(gemma.rope_table(0, 9), rope_table(9, 64, base=10000.0))
    np.testing.assert_array_equal(gemma.rope_table(5, 9), rope_table(9, 64, base=100000.0))
    other = of("gemma3", attention__sliding_window=512, attention__sliding_window_pattern=3, rope__freq_base_swa=5.0)
    assert [i for i in range(9) if other.window(i) == 0] == [2, 5, 8]
    np.testing.assert_array_equal(other.rope_table(0, 9), rope_table(9, 64, base=5.0))
    assert of("gemma3").windows == ()


def test_a_layer_whose_window_is_the_whole_context_keeps_the_rope_of_its_own() -> None:
    gemma = of("gemma3", attention__sliding_window=8192)
    np.testing.assert_array_equal(gemma.rope_table(0, 9), rope_table(9, 64, base=10000.0))
    np.testing.assert_array_equal(gemma.rope_table(5, 9), rope_table(9, 64, base=100000.0))


def test_scores_of_gemma_3_27b_are_scaled_by_hidden_by_heads() -> None:
    large = {"embedding_length": 5376, "attention__head_count": 32, "attention__head_count_kv": 16}
    large |= {"attention__key_length": 128, "rope__dimension_count": 128}
    assert of("gemma3", block_count=62, **large).attention_scale == 168**-0.5
    assert of("gemma3", block_count=48, **large).attention_scale is None
    assert of("gemma3", block_count=48, attention__scale=0.5, **large).attention_scale == 0.5


def test_linear_scaling_slows_every_pair_but_those_of_local_layers() -> None:
    slow = {"rope__scaling__type": "linear", "rope__scaling__factor": 4.0}
    table = rope_table(40, 64, base=100000.0)
    np.testing.assert_array_equal(of("llama", **slow).rope_table(0, 40)[::4], table[:10])
    gemma = of("gemma3", attention__sliding_window=512, **slow)
    np.testing.assert_array_equal(gemma.rope_table(5, 40)[::4], table[:10])
    np.testing.assert_array_equal(gemma.rope_table(0, 40), rope_table(40, 64, base=10000.0))


# Of Bonsai's files: head width 128, base, the original context, and what another runtime's tables hold of it.
YARN = [
    (1e6, 8192, (17, 34), (1.1386294365, 3.53242058e-07), (1.0741165876, 0.3778233230)),
    (5e6, 8192, (15, 30), (1.1386294365, 7.24475697e-08), (1.1315203905, 0.1270375997)),
    (1e6, 16384, (20, 37), (1.1386294365, 3.53242058e-07), (1.0148624182, 0.5162667036)),
]


@pytest.mark.parametrize(("base", "original", "ramp", "last", "middle"), YARN)
def test_yarn_gives_the_tables_of_another_runtime(
    base: float, original: int, ramp: Any, last: Any, middle: Any
) -> None:
    scaling = {"rope__scaling__factor": 4.0, "rope__scaling__original_context_length": original}
    config = of(
        "qwen3", attention__key_length=128, rope__dimension_count=128, rope__freq_base=base, context_length=65536,
        rope__scaling__type="yarn", **scaling,
    )  # fmt: skip
    assert config.rope_scaling == YarnScaling(4.0, original)
    params = rope_frequency_params(128, base=base, scaling=config.rope_scaling)
    assert (params.ramp_low, params.ramp_high) == ramp
    table = config.rope_table(0, 1001)
    np.testing.assert_allclose(table[1, 0], (0.6152040958, 0.9581236243), rtol=2e-7)
    np.testing.assert_allclose(table[1, -1], last, rtol=2e-7)
    np.testing.assert_allclose(table[1000, 32], middle, rtol=2e-7)


def test_factors_of_a_file_divide_the_frequencies() -> None:
    factors = llama3_freq_factors(
        64, base=100000.0, factor=8, low_freq_factor=1, high_freq_factor=4, original_context_length=2048
    )
    config = of("llama").with_rope_factors(factors)
    np.testing.assert_array_equal(config.rope_table(0, 50), rope_table(50, 64, base=100000.0, freq_factors=factors))
    twice = of("llama", rope__scaling__type="linear", rope__scaling__factor=2.0).with_rope_factors(factors)
    assert twice.rope_factors == tuple((factors.astype(np.float64) * 2).tolist())
    for wrong in (factors[1:], np.where(factors == 8, 0, factors), np.where(factors == 8, np.nan, factors)):
        with pytest.raises(FormatError, match=r"^weights: rope_freqs\.weight must be 32 positive numbers, got \("):
            of("llama").with_rope_factors(wrong)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"expert_count": 8}, r"qwen3moe\.expert_feed_forward_length is missing"),
        (
            {"expert_count": 2, "expert_used_count": 3, "expert_feed_forward_length": 8},
            r"qwen3moe\.expert_used_count must be at most expert_count 2, got 3",
        ),
    ],
)
def test_experts_that_contradict_each_other_are_named(changes: dict[str, int], message: str) -> None:
    with pytest.raises(FormatError, match=f"^metadata: {message}$"):
        of("qwen3moe", **changes)
