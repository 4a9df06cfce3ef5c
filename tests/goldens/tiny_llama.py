"""Makes tiny_llama.gguf and tiny_llama.npz: a seeded llama with transformers' logits and greedy ids as the oracle.

Run with torch 2.13, transformers 5.24 and gguf 0.19: `python tests/goldens/tiny_llama.py`. The suite needs none of them
but gguf. The weights are random, quantised as a file would be (each type below at least once), with query and key rows
permuted as llama.cpp's converter does; transformers runs on the dequantised weights, so that both sides compute the
same model. The tokenizer is a byte-level BPE of 320 tokens made from a few words.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import torch
from gguf.quants import dequantize, quantize
from transformers import LlamaConfig, LlamaForCausalLM

HERE = Path(__file__).parent
LAYERS, HIDDEN, FFN, HEADS, KV_HEADS, HEAD_DIM, VOCAB = 2, 256, 512, 4, 2, 64, 320
ROPE_BASE, EPS, CONTEXT = 10000.0, 1e-5, 512
PROMPT_TOKENS, DECODE_TOKENS = 70, 24  # the prompt passes a page of 64 and ends inside a chunk of 16
Q = gguf.GGMLQuantizationType
TYPES = [
    {"attn": Q.Q4_1, "attn_output": Q.Q4_1, "ffn_gate_up": Q.Q4_1, "ffn_down": Q.Q4_1},
    {"attn": Q.Q4_0, "attn_output": Q.Q8_0, "ffn_gate_up": Q.Q4_0, "ffn_down": Q.Q4_1},
]
EMBEDDING, HEAD = Q.Q8_0, Q.F16
WORDS = "Ġthe Ġcapital Ġof assistant user system Hello Ġworld Ġis ing tion Ġand Ġanswer 東 京 😀 é ü ñ"
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def permuted(rows: np.ndarray, heads: int) -> np.ndarray:
    """llama.cpp's order: the two halves of every head interleaved, so that rope turns adjacent channels."""
    return rows.reshape(heads, 2, -1, rows.shape[-1]).swapaxes(1, 2).reshape(rows.shape)


def unpermuted(rows: np.ndarray, heads: int) -> np.ndarray:
    return rows.reshape(heads, -1, 2, rows.shape[-1]).swapaxes(1, 2).reshape(rows.shape)


def file_tensors(rng: np.random.Generator) -> dict[str, tuple[np.ndarray, Q]]:
    """Name to (float32 values, type), in the file's order."""

    def weight(rows: int, columns: int, gain: float = 1.0) -> np.ndarray:
        return (rng.standard_normal((rows, columns)) * gain / np.sqrt(columns)).astype(np.float32)

    def norm() -> np.ndarray:
        return (1 + 0.2 * rng.standard_normal(HIDDEN)).astype(np.float32)

    tensors = {"token_embd": (weight(VOCAB, HIDDEN, 16), EMBEDDING)}
    for i, types in enumerate(TYPES):
        for name, values, kind in [
            ("attn_norm", norm(), Q.F32),
            ("attn_q", permuted(weight(HEADS * HEAD_DIM, HIDDEN, 1.5), HEADS), types["attn"]),
            ("attn_k", permuted(weight(KV_HEADS * HEAD_DIM, HIDDEN, 1.5), KV_HEADS), types["attn"]),
            ("attn_v", weight(KV_HEADS * HEAD_DIM, HIDDEN), types["attn"]),
            ("attn_output", weight(HIDDEN, HEADS * HEAD_DIM), types["attn_output"]),
            ("ffn_norm", norm(), Q.F32),
            ("ffn_gate", weight(FFN, HIDDEN), types["ffn_gate_up"]),
            ("ffn_up", weight(FFN, HIDDEN), types["ffn_gate_up"]),
            ("ffn_down", weight(HIDDEN, FFN), types["ffn_down"]),
        ]:
            tensors[f"blk.{i}.{name}"] = (values, kind)
    tensors["output_norm"] = (norm(), Q.F32)
    tensors["output"] = (weight(VOCAB, HIDDEN, 3), HEAD)
    return {f"{name}.weight": value for name, value in tensors.items()}


def tokenizer() -> tuple[list[str], list[int], list[str]]:
    """Tokens, their types and merges: three control tokens, 256 bytes in GPT-2's alphabet, then merges."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet = {b: chr(b) for b in printable}
    alphabet |= {b: chr(0x100 + i) for i, b in enumerate(sorted(set(range(256)) - set(printable)))}
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(alphabet[b] for b in range(256))]
    merges: list[str] = []
    for word in WORDS.split():
        left = list("".join(c if c == "Ġ" else "".join(alphabet[b] for b in c.encode()) for c in word))
        while len(left) > 1 and len(tokens) < VOCAB:
            merged = left[0] + left[1]
            if merged not in tokens:
                tokens.append(merged)
                merges.append(f"{left[0]} {left[1]}")
            left[:2] = [merged]
    assert len(tokens) == VOCAB, len(tokens)
    control, normal = int(gguf.TokenType.CONTROL), int(gguf.TokenType.NORMAL)
    return tokens, [control] * 3 + [normal] * (VOCAB - 3), merges


def write_file(path: Path, tensors: dict[str, tuple[np.ndarray, Q]]) -> dict[str, np.ndarray]:
    """Writes the GGUF and returns what its tensors dequantise to."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(EPS)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_vocab_size(VOCAB)
    tokens, types, merges = tokenizer()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    values = {}
    for name, (data, kind) in tensors.items():
        stored = data if kind == Q.F32 else quantize(data, kind)
        writer.add_tensor(name, stored, raw_dtype=kind)
        values[name] = data if kind == Q.F32 else dequantize(stored, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return values


def oracle(values: dict[str, np.ndarray]) -> LlamaForCausalLM:
    """transformers' model with these weights, query and key rows back in its own order."""
    config = LlamaConfig(
        vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=FFN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS, head_dim=HEAD_DIM, max_position_embeddings=CONTEXT, rms_norm_eps=EPS,
        rope_parameters={"rope_theta": ROPE_BASE, "rope_type": "default"}, tie_word_embeddings=False,
        attention_bias=False, mlp_bias=False, attn_implementation="eager",
    )  # fmt: skip
    model = LlamaForCausalLM(config).to(torch.float32).eval()
    theirs = {
        "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
    }  # fmt: skip
    heads = {"attn_q": HEADS, "attn_k": KV_HEADS}
    state = {
        "model.embed_tokens.weight": values["token_embd.weight"],
        "model.norm.weight": values["output_norm.weight"],
        "lm_head.weight": values["output.weight"],
    }
    for i in range(LAYERS):
        for ours, name in theirs.items():
            rows = values[f"blk.{i}.{ours}.weight"]
            state[f"model.layers.{i}.{name}.weight"] = unpermuted(rows, heads[ours]) if ours in heads else rows
    model.load_state_dict({name: torch.from_numpy(np.array(v)) for name, v in state.items()}, strict=True)
    return model


def main() -> None:
    rng = np.random.default_rng(20)
    model = oracle(write_file(HERE / "tiny_llama.gguf", file_tensors(rng)))
    prompt = rng.integers(3, VOCAB, PROMPT_TOKENS).tolist()
    ids, rows = list(prompt), []
    with torch.no_grad():
        for _ in range(DECODE_TOKENS):
            rows.append(model(torch.tensor([ids])).logits[0, -1].numpy())
            ids.append(int(rows[-1].argmax()))
        in64 = model.double()(torch.tensor([ids[:-1]])).logits[0, PROMPT_TOKENS - 1 :].numpy()
    logits = np.stack(rows)
    ranked = np.sort(in64, axis=1)
    print("least margin", (ranked[:, -1] - ranked[:, -2]).min(), "f32 against f64", np.abs(logits - in64).max())
    print("ids", ids[PROMPT_TOKENS:])
    np.savez_compressed(
        HERE / "tiny_llama.npz",
        prompt=np.array(prompt, np.int32),
        greedy=np.array(ids[PROMPT_TOKENS:], np.int32),
        logits=in64.astype(np.float32),
    )


if __name__ == "__main__":
    main()
