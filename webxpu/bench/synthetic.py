"""Models of a given shape with random weights, written as GGUF: a speed depends on shapes and types, not on values.

Every weight is drawn with a spread of about 1 / sqrt(K), so that activations and logits stay finite. The text such a
model makes means nothing; its tokenizer has a token for each byte and fills the vocabulary up with names.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import ShapeError
from webxpu.formats.ggml_types import GgmlType
from webxpu.formats.gguf import DEFAULT_ALIGNMENT, ValueType
from webxpu.quant.ggml import BLOCK_TYPES, is_block_type, nbytes
from webxpu.text.pieces import BYTE_OF_CHARACTER

# Bytes of weights that are made at once.
PIECE_BYTES = 32 << 20
# Of each block type: how far its random codes, times their sub-block's scale, spread around their middle (root mean
# square), and that middle, which the offset takes away: so many scales, added or, of the K-quants, subtracted.
_SPREAD = {
    **{"q8_0": (74, 0.0), "q4_0": (4.6, 0.0), "q4_1": (4.6, -7.5), "q5_0": (9.2, 0.0), "q5_1": (9.2, -15.5)},
    **{"q2_k": (14, 1.5), "q3_k": (43, 0.0), "q4_k": (258, 7.5), "q5_k": (527, 15.5), "q6_k": (1370, 0.0)},
    **{"q1_0": (1, 0.0), "tq1_0": (0.82, 0.0), "tq2_0": (1.22, 0.0)},
}
# Types of one number a weight: words of its size, the bits of sign and mantissa in them, how many of these are the
# mantissa's, and the exponent's bias.
_FLOATS = {"f32": ("<u4", 0x807FFFFF, 23, 127), "f16": ("<u2", 0x83FF, 10, 15), "bf16": ("<u2", 0x807F, 7, 127)}
TYPES = (*_FLOATS, *_SPREAD)


@dataclass(frozen=True)
class Shape:
    """The numbers of a decoder-only transformer.

    tied      the head is the embedding
    qk_norm   gains per head on queries and keys, as Qwen3 has them
    """

    architecture: str
    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    rope_base: float
    rms_eps: float
    context_length: int
    tied: bool = True
    qk_norm: bool = False


PRESETS = {
    "smollm2-135m": Shape("llama", 30, 576, 1536, 9, 3, 64, 49_152, 1e5, 1e-5, 8192),
    "llama-3.2-1b": Shape("llama", 16, 2048, 8192, 32, 8, 64, 128_256, 5e5, 1e-5, 131_072),
    "qwen3-0.6b": Shape("qwen3", 28, 1024, 3072, 16, 8, 128, 151_936, 1e6, 1e-6, 40_960, qk_norm=True),
    "qwen3-1.7b": Shape("qwen3", 28, 2048, 6144, 16, 8, 128, 151_936, 1e6, 1e-6, 40_960, qk_norm=True),
}


def tensor_table(shape: Shape, type_name: str) -> dict[str, tuple[tuple[int, ...], str]]:
    """Name to shape (rows first) and type of every tensor; gains are f32, all else is `type_name`.

    Raises ShapeError for a type that is not in TYPES, or whose blocks do not fit a row.
    """
    if type_name not in TYPES:
        raise ShapeError(f"synthetic: type must be one of {', '.join(TYPES)}, got {type_name!r}")
    s, table = shape, dict[str, tuple[tuple[int, ...], str]]()
    queries, keys = s.heads * s.head_dim, s.kv_heads * s.head_dim
    table["token_embd"] = ((s.vocab, s.hidden), type_name)
    for i in range(s.layers):
        gains = {"attn_norm": s.hidden, "ffn_norm": s.hidden}
        if s.qk_norm:
            gains |= {"attn_q_norm": s.head_dim, "attn_k_norm": s.head_dim}
        matrices = {
            "attn_q": (queries, s.hidden), "attn_k": (keys, s.hidden), "attn_v": (keys, s.hidden),
            "attn_output": (s.hidden, queries),
            "ffn_gate": (s.ffn, s.hidden), "ffn_up": (s.ffn, s.hidden), "ffn_down": (s.hidden, s.ffn),
        }  # fmt: skip
        table |= {f"blk.{i}.{name}": ((width,), "f32") for name, width in gains.items()}
        table |= {f"blk.{i}.{name}": (size, type_name) for name, size in matrices.items()}
    table["output_norm"] = ((s.hidden,), "f32")
    if not s.tied:
        table["output"] = ((s.vocab, s.hidden), type_name)
    for name, (size, kind) in table.items():
        if is_block_type(kind) and size[-1] % BLOCK_TYPES[kind].elements:
            raise ShapeError(
                f"synthetic: rows of {name} must be a multiple of {BLOCK_TYPES[kind].elements} weights for {kind}, "
                f"got {size[-1]}"
            )
    return {f"{name}.weight": entry for name, entry in table.items()}


def write_model(
    path: Path, shape: Shape, type_name: str, *, seed: int = 0, report: Callable[[int, int], object] | None = None
) -> int:
    """Writes the model and returns the file's size in bytes. The same seed gives the same file.

    report   called with (bytes written, bytes in all)

    Raises ShapeError as `tensor_table` does.
    """
    table = tensor_table(shape, type_name)
    sizes = [_file_bytes(size, kind) for size, kind in table.values()]
    header = _header(_metadata(shape, type_name), table, sizes)
    total = len(header) + sum(map(_aligned, sizes))
    rng = np.random.Generator(np.random.SFC64(seed))
    with path.open("wb") as file:
        file.write(header)
        for (size, kind), bytes_ in zip(table.values(), sizes, strict=True):
            for piece in _pieces(rng, size, kind):
                piece.tofile(file)
                if report is not None:
                    report(file.tell(), total)
            file.write(bytes(_aligned(bytes_) - bytes_))
    return total


def _pieces(rng: np.random.Generator, size: tuple[int, ...], kind: str) -> Iterator[NDArray[Any]]:
    """The bytes of a tensor, some rows at a time. Gains are ones."""
    if len(size) == 1:
        yield np.ones(size, "<f4")
        return
    rows, width = size
    step = max(1, PIECE_BYTES // _file_bytes((1, width), kind))
    for first in range(0, rows, step):
        count = min(step, rows - first) * width
        yield _floats(rng, kind, count, width) if kind in _FLOATS else _blocks(rng, kind, count, width)


def _floats(rng: np.random.Generator, kind: str, count: int, width: int) -> NDArray[Any]:
    """Numbers of either sign from 1 to 2 times a power of two, which spread by about 1 / sqrt(width)."""
    dtype, keep, mantissa_bits, bias = _FLOATS[kind]
    exponent = round(math.log2(1 / (1.5 * math.sqrt(width)))) + bias
    words = _random_bytes(rng, count * int(dtype[2])).view(dtype)
    words &= keep
    words |= exponent << mantissa_bits
    return words


def _blocks(rng: np.random.Generator, kind: str, count: int, width: int) -> NDArray[np.uint8]:
    """Blocks of random codes under scales that differ by up to a half."""
    block = BLOCK_TYPES[kind]
    data = _random_bytes(rng, count // block.elements * block.nbytes).reshape(-1, block.nbytes)
    spread, middle = _SPREAD[kind]
    scales = np.linspace(0.5, 1.5, 256, dtype=np.float32) / np.float32(spread * math.sqrt(width))
    picked = data[:, block.halves[0]]  # the random byte that stands where the scale will
    factors = [1.0, middle]
    halves = [(scales * factor).astype("<f2")[picked] for factor in factors[: len(block.halves)]]
    for at, half in zip(block.halves, halves, strict=True):
        data[:, at : at + 2] = half.view(np.uint8).reshape(-1, 2)
    return data


def _random_bytes(rng: np.random.Generator, count: int) -> NDArray[np.uint8]:
    return rng.integers(0, 2**64, -(-count // 8), np.uint64).view(np.uint8)[:count]


def _file_bytes(size: tuple[int, ...], kind: str) -> int:
    return math.prod(size) * 4 if kind == "f32" else nbytes(kind, size)


def _aligned(count: int) -> int:
    return -(-count // DEFAULT_ALIGNMENT) * DEFAULT_ALIGNMENT


def _metadata(shape: Shape, type_name: str) -> dict[str, Any]:
    s, tokens = shape, _tokens(shape.vocab)
    named = {
        "context_length": s.context_length, "embedding_length": s.hidden, "block_count": s.layers,
        "feed_forward_length": s.ffn, "attention.head_count": s.heads, "attention.head_count_kv": s.kv_heads,
        "attention.key_length": s.head_dim, "attention.value_length": s.head_dim,
        "attention.layer_norm_rms_epsilon": s.rms_eps, "rope.freq_base": s.rope_base,
    }  # fmt: skip
    return {
        "general.architecture": s.architecture,
        "general.name": f"random weights in {type_name}",
        **{f"{s.architecture}.{key}": value for key, value in named.items()},
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": list[str](),
        "tokenizer.ggml.eos_token_id": s.vocab - 1,
    }


def _tokens(vocab: int) -> list[str]:
    """GPT-2's letters of the 256 bytes, in order of the bytes, then names."""
    if vocab <= 256:
        raise ShapeError(f"synthetic: vocab must be more than the 256 bytes, got {vocab}")
    letters = sorted(BYTE_OF_CHARACTER, key=BYTE_OF_CHARACTER.__getitem__)
    return [*letters, *(f"<{i}>" for i in range(256, vocab))]


def _header(metadata: dict[str, Any], table: dict[str, tuple[tuple[int, ...], str]], sizes: list[int]) -> bytes:
    """Everything before the tensors' bytes, padded. GGUF lists a tensor's shape from the innermost length out."""
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(table), len(metadata))]
    for key, value in metadata.items():
        parts += [_text(key), _value(value)]
    offset = 0
    for (name, (size, kind)), bytes_ in zip(table.items(), sizes, strict=True):
        lengths = struct.pack(f"<I{len(size)}Q", len(size), *reversed(size))
        parts += [_text(name), lengths, struct.pack("<IQ", GgmlType[kind.upper()], offset)]
        offset += _aligned(bytes_)
    header = b"".join(parts)
    return header + bytes(_aligned(len(header)) - len(header))


def _value(value: Any) -> bytes:
    if isinstance(value, list):
        head = struct.pack("<IIQ", ValueType.ARRAY, ValueType.STRING, len(value))
        return head + b"".join(map(_text, value))
    if isinstance(value, str):
        return struct.pack("<I", ValueType.STRING) + _text(value)
    if isinstance(value, float):
        return struct.pack("<If", ValueType.FLOAT32, value)
    return struct.pack("<II", ValueType.UINT32, value)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded
