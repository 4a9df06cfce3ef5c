"""Tiny models of every architecture, made by a hash, and the files that hold them: Hugging Face folders as transformers
reads them, and GGUF files in any weight type by llama.cpp's conventions. tests/goldens/tiny_models.npz says what
transformers computes with the same weights."""

from __future__ import annotations

import functools
import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import libgguf
import numpy as np

from webxpu.cases.case import hashed, uniform
from webxpu.ops.rope import permute_rope_channels

GOLDENS = Path(__file__).parent.parent / "goldens"
PROMPT_TOKENS, DECODE_TOKENS = 40, 8
VOCAB = 320
_SIZES: dict[str, Any] = {
    "vocab_size": VOCAB, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6, "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip
_LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64, "rope_theta": 10000.0,
}  # fmt: skip
_YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 10000.0}


@dataclass(frozen=True)
class Model:
    """transformers' configuration, GGUF's name for the architecture, and the seed of the weights."""

    architecture: str
    seed: int
    config: Mapping[str, Any] = field(default_factory=dict)


MODELS = {
    "llama": Model("llama", 1, {**_SIZES, "model_type": "llama"}),
    "llama3": Model("llama", 2, {**_SIZES, "model_type": "llama", "rope_parameters": _LLAMA3}),
    "mistral": Model("mistral", 63, {**_SIZES, "model_type": "mistral", "sliding_window": 16}),
    "qwen2": Model("qwen2", 4, {**_SIZES, "model_type": "qwen2"}),
    "qwen3": Model("qwen3", 65, {**_SIZES, "model_type": "qwen3", "head_dim": 128}),
    "qwen3-tied": Model("qwen3", 26, {**_SIZES, "model_type": "qwen3", "tie_word_embeddings": True}),
    "qwen3-yarn": Model("qwen3", 7, {**_SIZES, "model_type": "qwen3", "rope_parameters": _YARN}),
    "qwen3moe": Model(
        "qwen3moe", 68,
        {**_SIZES, "model_type": "qwen3_moe", "num_experts": 4, "num_experts_per_tok": 2,
         "moe_intermediate_size": 256, "norm_topk_prob": True},
    ),
    # The window is smaller than the prompt, and of six layers the last has none.
    "gemma3": Model(
        "gemma3", 309,
        {**_SIZES, "model_type": "gemma3_text", "num_hidden_layers": 6, "sliding_window": 16,
         "tie_word_embeddings": True, "query_pre_attn_scalar": 64,
         "rope_parameters": {
             "full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
             "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
         }},
    ),
}  # fmt: skip

TYPES = (
    "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q1_0",
    "tq1_0", "tq2_0",
)  # fmt: skip
# As Q4_K_M mixes them, and gate and up of two types besides; by a part of the name in a GGUF file.
MIXED = {
    "token_embd": "q8_0", "attn_v": "q8_0", "attn_q": "q5_0", "attn_k": "q5_0", "attn_output": "q4_k",
    "ffn_up": "q4_1", "ffn_gate": "q5_0", "ffn_down": "q6_k", "output": "q6_k", "ffn_gate_inp": "f32",
    "ffn_gate_exps": "q4_k", "ffn_up_exps": "q4_k", "ffn_down_exps": "q6_k",
}  # fmt: skip
# What has a golden: a model and the type of its matrices.
VARIANTS = [
    *((name, "f32") for name in MODELS),
    *(("llama", kind) for kind in TYPES[1:]),
    *((name, "mixed") for name in ("llama", "qwen2", "qwen3", "qwen3moe", "gemma3")),
    *((name, "q8_0") for name in ("qwen3", "qwen3moe", "gemma3")),
    ("qwen3moe", "q4_k"),
]


def prompt(name: str) -> np.ndarray:
    """(40,) ids."""
    return (hashed(PROMPT_TOKENS, 100 + MODELS[name].seed) % VOCAB).astype(np.int32)


@functools.cache
def tensors(name: str) -> dict[str, np.ndarray]:
    """The weights in float32, by Hugging Face's names."""
    c, made = MODELS[name].config, dict[str, np.ndarray]()
    hidden, heads, keys, d = (c[k] for k in ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim"))
    post = c["model_type"] == "gemma3_text"

    def matrix(key: str, rows: int, columns: int, gain: float = 1.0) -> None:
        seed = 1000 * MODELS[name].seed + len(made)
        made[f"{key}.weight"] = uniform((rows, columns), seed, amp=gain * (3 / columns) ** 0.5)

    def vector(key: str, width: int, middle: float) -> None:
        made[key] = uniform((width,), 1000 * MODELS[name].seed + len(made), amp=0.4) + np.float32(middle)

    def gain(key: str, width: int = hidden) -> None:
        vector(f"{key}.weight", width, 0.0 if post else 1.0)  # Gemma's files leave out the 1

    tied = c["tie_word_embeddings"]  # a large embedding would then give its own id again
    matrix("model.embed_tokens", VOCAB, hidden, 0.5 if post else 1.0 if tied else 4.0)
    for i in range(c["num_hidden_layers"]):
        layer, attention = f"model.layers.{i}", f"model.layers.{i}.self_attn"
        gain(f"{layer}.input_layernorm")
        for part, n in {"q": heads * d, "k": keys * d, "v": keys * d}.items():
            matrix(f"{attention}.{part}_proj", n, hidden, 1.7)
            if c["model_type"] == "qwen2":
                vector(f"{attention}.{part}_proj.bias", n, 0.0)
        matrix(f"{attention}.o_proj", hidden, heads * d, 1.7)
        if c["model_type"] in ("qwen3", "qwen3_moe", "gemma3_text"):
            for part in ("q_norm", "k_norm"):  # Gemma's large enough that a row attends to some keys and not to others
                vector(f"{attention}.{part}.weight", d, 0.5 if post else 1.0)
        gain(f"{layer}.post_attention_layernorm")
        if post:
            gain(f"{layer}.pre_feedforward_layernorm")
            gain(f"{layer}.post_feedforward_layernorm")
        ffn, places = c["intermediate_size"], [f"{layer}.mlp"]
        if "num_experts" in c:
            matrix(f"{layer}.mlp.gate", c["num_experts"], hidden, 2.0)
            ffn, places = c["moe_intermediate_size"], [f"{layer}.mlp.experts.{e}" for e in range(c["num_experts"])]
        for place in places:
            matrix(f"{place}.gate_proj", ffn, hidden)
            matrix(f"{place}.up_proj", ffn, hidden)
            matrix(f"{place}.down_proj", hidden, ffn, 1.7)
    vector("model.norm.weight", hidden, 3.0 if tied else 1.0)
    if not tied:
        matrix("lm_head", VOCAB, hidden, 2.0)
    return made


_GGUF_NAMES = {
    "embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "mlp.gate": "ffn_gate_inp",
}  # fmt: skip
_GEMMA_NAMES = {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}  # fmt: skip


def gguf_name(name: str, key: str) -> tuple[str, int | None]:
    """What llama.cpp's converter calls a tensor of Hugging Face, and which expert's part of it that is."""
    names = {**_GGUF_NAMES, **(_GEMMA_NAMES if MODELS[name].architecture == "gemma3" else {})}
    found = re.fullmatch(r"(?:model\.)?(?:layers\.(\d+)\.)?(.*)\.(weight|bias)", key)
    assert found is not None
    prefix = f"blk.{found[1]}." if found[1] else ""
    expert = re.fullmatch(r"mlp\.experts\.(\d+)\.(\w+)_proj", found[2])
    if expert:
        return f"{prefix}ffn_{expert[2]}_exps.weight", int(expert[1])
    return f"{prefix}{names[found[2]]}.{found[3]}", None


def type_of(gguf_name: str, kind: str) -> str:
    """The type that a matrix has in a variant."""
    stem = gguf_name.split(".")[-2]
    if kind == "mixed":
        return MIXED[stem]
    return "f32" if stem == "ffn_gate_inp" else kind  # as converters leave the router


def quantized(values: np.ndarray, kind: str) -> np.ndarray:
    """Rows as a GGUF file has them: (N, bytes) uint8, or the numbers themselves where the type is f32 or f16."""
    if kind in ("f32", "f16"):
        return values.astype({"f32": np.float32, "f16": np.float16}[kind])
    number = gguf.GGMLQuantizationType[kind.upper()]
    if kind == "bf16":
        return gguf.quants.quantize(values, number)
    return np.asarray(libgguf.quantize_rows(np.ascontiguousarray(values), number))


def rounded(name: str, kind: str) -> dict[str, np.ndarray]:
    """The weights that a variant's file holds, as float32, by Hugging Face's names: what the golden is made of."""
    result = {}
    for key, values in tensors(name).items():
        its = type_of(gguf_name(name, key)[0], kind) if values.ndim == 2 else "f32"
        if its in ("f32", "f16"):
            result[key] = quantized(values, its).astype(np.float32)
        else:
            number = gguf.GGMLQuantizationType[its.upper()]
            rows = quantized(values, its)
            plain = gguf.quants.dequantize if its == "bf16" else libgguf.dequantize_rows
            result[key] = np.asarray(plain(rows, number), np.float32).reshape(values.shape)
    return result


def write_gguf(path: Path, name: str, kind: str) -> None:
    """The model as llama.cpp's converter writes it, its matrices in a type."""
    model, c = MODELS[name], MODELS[name].config
    architecture = "llama" if model.architecture == "mistral" else model.architecture
    writer = gguf.GGUFWriter(path, architecture)
    _write_numbers(writer, c)
    _write_tokenizer(writer)
    if c.get("rope_parameters", {}).get("rope_type") == "llama3":
        writer.add_tensor("rope_freqs.weight", _llama3_factors(c))
    joined: dict[str, list[np.ndarray]] = {}
    for key, values in tensors(name).items():
        own, _ = gguf_name(name, key)
        if architecture == "llama" and ".attn_q." in own:
            values = permute_rope_channels(values, c["num_attention_heads"])
        if architecture == "llama" and ".attn_k." in own:
            values = permute_rope_channels(values, c["num_key_value_heads"])
        if architecture == "gemma3" and own.endswith("norm.weight"):
            values = values + np.float32(1)
        joined.setdefault(own, []).append(values)
    for own, parts in joined.items():
        its = type_of(own, kind) if parts[0].ndim == 2 else "f32"
        rows = [quantized(part, its) for part in parts]
        data = np.stack(rows) if own.endswith("_exps.weight") else rows[0]
        writer.add_tensor(own, data, raw_dtype=gguf.GGMLQuantizationType[its.upper()])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _write_numbers(writer: gguf.GGUFWriter, c: Mapping[str, Any]) -> None:
    writer.add_block_count(c["num_hidden_layers"])
    writer.add_context_length(c["max_position_embeddings"])
    writer.add_embedding_length(c["hidden_size"])
    writer.add_feed_forward_length(c["intermediate_size"])
    writer.add_head_count(c["num_attention_heads"])
    writer.add_head_count_kv(c["num_key_value_heads"])
    writer.add_key_length(c["head_dim"])
    writer.add_value_length(c["head_dim"])
    writer.add_layer_norm_rms_eps(c["rms_norm_eps"])
    rope = c.get("rope_parameters", {})
    writer.add_rope_freq_base(rope.get("full_attention", rope).get("rope_theta", 10000.0))
    if rope.get("rope_type") == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if "num_experts" in c:
        writer.add_expert_count(c["num_experts"])
        writer.add_expert_used_count(c["num_experts_per_tok"])
        writer.add_expert_feed_forward_length(c["moe_intermediate_size"])
    if c["model_type"] == "gemma3_text":
        writer.add_sliding_window(c["sliding_window"])


def _write_tokenizer(writer: gguf.GGUFWriter) -> None:
    """That of tiny_llama.gguf, which has as many tokens."""
    for field_ in gguf.GGUFReader(GOLDENS / "tiny_llama.gguf").fields.values():
        if field_.name.startswith("tokenizer."):
            item = field_.types[-1] if field_.types[0] is gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field_.name, field_.contents(), field_.types[0], item)


def _llama3_factors(c: Mapping[str, Any]) -> np.ndarray:
    """As llama.cpp's converter computes them."""
    rope, d = c["rope_parameters"], c["head_dim"]
    low = rope["original_max_position_embeddings"] / rope["low_freq_factor"]
    high = rope["original_max_position_embeddings"] / rope["high_freq_factor"]
    factors = []
    for i in range(0, d, 2):
        length = 2 * np.pi * rope["rope_theta"] ** (i / d)
        if length < high:
            factors.append(1.0)
        elif length > low:
            factors.append(rope["factor"])
        else:
            ratio = rope["original_max_position_embeddings"] / length
            smooth = (ratio - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
            factors.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(factors, np.float32)


def write_folder(folder: Path, config: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> None:
    """A Hugging Face folder of float32 weights: config.json and model.safetensors."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(dict(config)))
    header, at = {}, 0
    for key, values in weights.items():
        header[key] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(np.ascontiguousarray(values).tobytes() for values in weights.values())
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


@functools.cache
def goldens() -> dict[str, np.ndarray]:
    with np.load(GOLDENS / "tiny_models.npz") as file:
        return {key: file[key] for key in file.files}


def golden(name: str, kind: str) -> dict[str, np.ndarray]:
    """greedy (8,), and logits (2, 320): the scores of the first of those ids and of the last, in float64."""
    found = goldens()
    return {part: found[f"{name}.{kind}.{part}"] for part in ("greedy", "logits")}
