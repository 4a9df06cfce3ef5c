"""Tiny 1-bit models of random weights as bitgpu and the ONNX recipe keep them, from the formats' description."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

L, HIDDEN, FFN, HEADS, KV, D, V, POSITIONS = 2, 256, 384, 4, 2, 64, 320, 96
# Linear layers by bitgpu's names: rows and columns.
LINEAR = {
    "attn.q_proj": (HEADS * D, HIDDEN), "attn.k_proj": (KV * D, HIDDEN), "attn.v_proj": (KV * D, HIDDEN),
    "attn.o_proj": (HIDDEN, HEADS * D), "mlp.gate_proj": (FFN, HIDDEN), "mlp.up_proj": (FFN, HIDDEN),
    "mlp.down_proj": (HIDDEN, FFN),
}  # fmt: skip
NORMS = {"input_layernorm": HIDDEN, "post_attention_layernorm": HIDDEN, "attn.q_norm": D, "attn.k_norm": D}
ARCH = {
    "model_type": "qwen3", "layers": L, "hidden": HIDDEN, "intermediate": FFN, "heads": HEADS, "kv_heads": KV,
    "head_dim": D, "rms_eps": 1e-6, "rope": {"rope_theta": 1e6}, "max_positions": 512, "vocab": V, "eos": 7,
    "tie_word_embeddings": False, "act": "silu",
}  # fmt: skip
LUTS = {"tgt2": (2, 1, 3), "tgt4": (4, 7, 9)}


def lut(name: str) -> bytes:
    """By the format's own formula: bit j of a byte makes code j, lowest bits first."""
    bits, low, high = LUTS[name]
    table = np.zeros((256, bits), np.uint8)
    for byte in range(256):
        for j in range(8):
            code = high if byte >> j & 1 else low
            table[byte, j * bits // 8] |= code << (j * bits % 8)
    return table.tobytes()


@dataclass
class Parts:
    """Weights by bitgpu's names: signs (N, K) of 0 and 1 with scales (N, K / 128), or gains (D,)."""

    signs: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    gains: dict[str, np.ndarray] = field(default_factory=dict)

    def dense(self) -> dict[str, np.ndarray]:
        found = {n: np.where(s, 1, -1) * np.repeat(c, 128, axis=1) for n, (s, c) in self.signs.items()}
        return {n: v.astype(np.float32) for n, v in found.items()} | self.gains


def parts(*, halves: bool = False, tied: bool = False) -> Parts:
    """halves   scales that float16 holds, as those of Q1_0 are"""
    rng, made = np.random.default_rng(3), Parts()

    def weight(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        scales = (rng.uniform(0.3, 1.3, (n, k // 128)) / np.sqrt(k)).astype(np.float32)
        return rng.integers(0, 2, (n, k), np.uint8), scales.astype(np.float16).astype(np.float32) if halves else scales

    made.signs["embed_tokens"] = weight(V, HIDDEN)
    for i in range(L):
        made.signs |= {f"layers.{i}.{name}": weight(*shape) for name, shape in LINEAR.items()}
        made.gains |= {f"layers.{i}.{n}": rng.uniform(0.5, 1.5, d).astype(np.float32) for n, d in NORMS.items()}
    made.gains[f"layers.{L}.final_norm_layernorm"] = rng.uniform(0.5, 1.5, HIDDEN).astype(np.float32)
    made.signs["lm_head"] = made.signs["embed_tokens"] if tied else weight(V, HIDDEN)
    return made


def packed(signs: np.ndarray) -> bytes:
    return np.packbits(signs, axis=1, bitorder="little").tobytes()


def zeros(n: int, k: int, name: str, value: int | None = None) -> bytes:
    """Zero points, packed; the middle unless told otherwise."""
    bits = LUTS[name][0]
    value = 1 << (bits - 1) if value is None else value
    row = sum(value << (bits * i) for i in range(k // 128))
    return row.to_bytes(-(-k // 128 * bits // 8), "little") * n


def caches(base: float = 1e6) -> tuple[np.ndarray, np.ndarray]:
    angles = np.arange(POSITIONS)[:, None] / base ** (np.arange(D // 2) * 2 / D)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def write_bitgpu(
    folder: Path,
    model: Parts,
    *,
    container: bool = False,
    baked: bool = False,
    tied: bool = False,
    zero: int | None = None,
) -> dict[str, Any]:
    """The three files; gives the manifest."""
    blobs = {"data": bytearray(b"\0" * 64), "aux": bytearray()}

    def ref(src: str, dtype: str, shape: list[int], data: bytes) -> dict[str, Any]:
        at = len(blobs[src])
        blobs[src] += data + bytes(-len(data) % 32)
        return {"dtype": dtype, "shape": shape, "src": src, "off": at, "len": len(data)}

    manifest: dict[str, Any] = {
        "version": 2 if container else 1, "data_file": "model.data", "aux_file": "model.aux.bin",
        "arch": ARCH | {"tie_word_embeddings": tied},
        "luts": {name: ref("aux", "UINT8", [256, LUTS[name][0]], lut(name)) for name in LUTS}, "tensors": {},
    }  # fmt: skip
    tensors = manifest["tensors"]
    for name, (signs, scales) in model.signs.items():
        n, k = signs.shape
        kind = {"embed_tokens": "q4", "lm_head": "q2"}.get(name, "binary")
        table = "tgt4" if kind == "q4" else "tgt2"
        sizes = {"rows": n, "cols": k} if kind == "q4" else {"N": n, "K": k}
        entry = {"kind": kind, **sizes, "block": 128, "bits": LUTS[table][0], "lut": table}
        if tied and name == "lm_head":
            same = tensors["embed_tokens"]
            tensors[name] = entry | {key: same[key] for key in ("weight", "scales", "container") if key in same}
            continue
        if container:
            blocks = np.concatenate(
                [scales.astype("<f2")[..., None].view(np.uint8), np.packbits(signs.reshape(n, -1, 128), 2, "little")], 2
            )
            entry |= {"container": "q1_0", "weight": ref("data", "UINT8", [n, k // 128 * 18], blocks.tobytes())}
        else:
            entry["weight"] = ref("data", "UINT8", [n, k // 8], packed(signs))
            entry["scales"] = ref("data" if kind != "binary" else "aux", "FLOAT", [n, k // 128], scales.tobytes())
            zp = zeros(n, k, table, zero if name == "lm_head" else None)
            entry["zp"] = ref("aux", "UINT8", [n, len(zp) // n], zp)
        tensors[name] = entry
    for name, gain in model.gains.items():
        tensors[name] = {"kind": "f32", "weight": ref("data", "FLOAT", [len(gain)], gain.tobytes())}
    if baked:
        for name, values in zip(("cos_cache", "sin_cache"), caches(5e3), strict=True):
            tensors[name] = {"kind": "f32", **ref("data", "FLOAT", list(values.shape), values.tobytes())}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "model.data").write_bytes(blobs["data"])
    (folder / "model.aux.bin").write_bytes(blobs["aux"])
    return manifest


# Protocol buffers, as little as the graph needs.


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def item(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def write_onnx(folder: Path, model: Parts, *, tied: bool = False, bits: int = 2) -> bytes:
    """The graph with its data beside it, and config.json in the folder above; gives the graph."""
    data, graph, shared = bytearray(), b"", set()

    def constant(name: str, kind: int, shape: tuple[int, ...], raw: bytes, *, inline: bool = False) -> None:
        nonlocal graph
        tensor = b"".join(item(1, n) for n in shape) + item(2, kind) + item(8, name)
        if inline:
            tensor += item(9, raw)
        else:
            where = {"location": "model_q1.onnx_data", "offset": str(len(data)), "length": str(len(raw))}
            tensor += b"".join(item(13, item(1, key) + item(2, value)) for key, value in where.items()) + item(14, 1)
            data.extend(raw + bytes(-len(raw) % 64))
        graph += item(5, tensor)

    def node(name: str, kind: str, inputs: list[str], **numbers: int) -> None:
        nonlocal graph
        attributes = b"".join(item(5, item(1, key) + item(3, n) + item(20, 2)) for key, n in numbers.items())
        graph += item(
            1, b"".join(item(1, i) for i in inputs) + item(2, "y") + item(3, name) + item(4, kind) + attributes
        )

    for name in LUTS:
        constant(f"unpack_lut_src1_{name}", 2, (256, LUTS[name][0]), lut(name), inline=True)
    for name, (signs, scales) in model.signs.items():
        n, k = signs.shape
        stem = f"model_{name.replace('.', '_')}" + ("_weight" if name == "embed_tokens" else "_MatMul_weight")
        stem = "lm_head_MatMul_weight" if name == "lm_head" else stem
        if name == "lm_head" and tied:
            stem = "model_embed_tokens_weight"
        else:
            constant(f"{stem}_quant", 2, (n, k // 8), packed(signs))
            constant(f"{stem}_scales", 1, (n, k // 128), scales.tobytes())
        if name == "embed_tokens":
            constant(f"{stem}_zp_4b", 2, (n, -(-k // 256)), zeros(n, k, "tgt4"))
            node("/embed", "GatherBlockQuantized", ["expanded", "ids", f"{stem}_scales"], bits=4, block_size=128)
            continue
        zp = f"{stem}_zp" if name == "lm_head" else f"zp_{n}x{k}"
        if zp not in shared:
            shared.add(zp)
            constant(zp, 2, (n, -(-k // 512)), zeros(n, k, "tgt2"))
        label = "/lm_head/MatMul_Quant" if name == "lm_head" else f"/{name}"
        node(label, "MatMulNBits", ["x", "expanded", f"{stem}_scales", zp], K=k, N=n, bits=bits, block_size=128)
    for name, gain in model.gains.items():
        full = f"model.{name}" + (".layernorm" if name.endswith(("q_norm", "k_norm")) else "") + ".weight"
        constant(full, 1, gain.shape, gain.tobytes(), inline=True)
        skip = "post_attention" in name
        kind = "SkipSimplifiedLayerNormalization" if skip else "SimplifiedLayerNormalization"
        node(f"/norm/{name}", kind, ["x", "skip", full] if skip else ["x", full])
    for name, values in zip(("cos_cache", "sin_cache"), caches(), strict=True):
        constant(name, 1, values.shape, values.tobytes())
    config = {
        "model_type": "qwen3", "num_hidden_layers": L, "hidden_size": HIDDEN, "intermediate_size": FFN,
        "num_attention_heads": HEADS, "num_key_value_heads": KV, "head_dim": D, "rms_norm_eps": 1e-6, "vocab_size": V,
        "max_position_embeddings": 512, "tie_word_embeddings": tied, "eos_token_id": 7, "hidden_act": "silu",
        "rope_theta": 1e6,
    }  # fmt: skip
    whole = item(1, 10) + item(7, graph)
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "onnx" / "model_q1.onnx").write_bytes(whole)
    (folder / "onnx" / "model_q1.onnx_data").write_bytes(data)
    return whole
