"""Models of one bit a weight as other runtimes keep them: bitgpu's manifest, and ONNX graphs of its recipe."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import FormatError
from webxpu.formats.bitgpu import read_bitgpu
from webxpu.formats.converted import ChunkHashes
from webxpu.formats.one_bit_layout import OneBitModel, Run, check_lut, check_zeros, unique
from webxpu.formats.onnx_one_bit import MAX_GRAPH_BYTES, read_onnx
from webxpu.formats.window import read_whole
from webxpu.llm.checkpoint import Checkpoint, identity_of
from webxpu.llm.config import Config
from webxpu.llm.files import Files
from webxpu.llm.hf_checkpoint import checkpoint_of

# Positions of a model that does not say how many it was trained for.
_POSITIONS = 40960
# Bytes of a constant that is read whole: tables of rope for 262,144 positions of 64 pairs take as many.
_MAX_CONSTANT_BYTES = 64 << 20
# Requests that are under way at once, for the zero points of each weight.
_REQUESTS = 8


@dataclass(frozen=True)
class BakedConfig(Config):
    """A configuration whose rope is a table of the file's own, used as it is."""

    table: NDArray[np.float32] = field(
        default_factory=lambda: np.zeros((0, 0, 2), np.float32), compare=False, repr=False
    )

    def rope_table(self, layer: int, positions: int) -> NDArray[np.float32]:
        assert layer < self.layers  # all of them have one table
        return self.table[:positions]


async def open_bitgpu(files: Files, values: Mapping[str, Any]) -> Checkpoint:
    """The model of a bitgpu manifest. Raises FormatError, Unsupported, FetchError."""
    model = read_bitgpu(values)
    assert model.arch is not None
    return await _open(files, model, _settings(model.arch, baked=model.cos is not None), files, "bitgpu")


async def open_onnx(files: Files) -> Checkpoint:
    """The model of an ONNX graph with the config.json beside it or in the folder above."""
    name = files.source.name
    model = read_onnx(await read_whole(files.reader(name), name, MAX_GRAPH_BYTES), name)
    above = files.source.above()
    for place in (files, *([Files(above, files.bridge)] if above else [])):
        values = await place.find_json("config.json")
        if values is not None:
            values.pop("quantization_config", None)  # it says what the graph says
            return await _open(files, model, values, place, "onnx")
    raise files.incomplete("a config.json, or the folder above it")


def _settings(arch: Mapping[str, Any], *, baked: bool) -> dict[str, Any]:
    """What config.json says, of what bitgpu's manifest does."""
    rope = arch.get("rope")
    if not isinstance(rope, dict) and not baked:
        raise FormatError(
            "manifest.json: arch.rope must be an object where no tables of rope are, got " + str(rope)[:80]
        )
    keys = {
        "model_type": "model_type", "num_hidden_layers": "layers", "hidden_size": "hidden",
        "intermediate_size": "intermediate", "num_attention_heads": "heads", "num_key_value_heads": "kv_heads",
        "head_dim": "head_dim", "rms_norm_eps": "rms_eps", "vocab_size": "vocab", "eos_token_id": "eos",
        "tie_word_embeddings": "tie_word_embeddings", "hidden_act": "act",
    }  # fmt: skip
    values = {key: arch[theirs] for key, theirs in keys.items() if arch.get(theirs) is not None}
    values["max_position_embeddings"] = arch.get("max_positions", _POSITIONS)
    if not baked:
        values["rope_parameters"] = {key: value for key, value in (rope or {}).items() if value is not None}
    return values


async def _open(files: Files, model: OneBitModel, values: Mapping[str, Any], texts: Files, form: str) -> Checkpoint:
    """texts   the folder with the tokenizer"""
    await _check_constants(files, model)
    settings = dict(values)
    table = await _rope_table(files, model)
    if table is not None:
        settings = {k: v for k, v in settings.items() if k not in ("rope_scaling", "rope_theta", "rope_parameters")}
    tensors = {named: replace(info, name=named) for info in model.tensors.values() for named in [_hf_name(info.name)]}
    made = await checkpoint_of(texts, settings, None, tensors, form)
    source = files.place(next(iter(made.weights.values())).parts[0].file)
    if table is None:
        return replace(made, source=source)
    config, digest = made.config, hashlib.sha256(table.tobytes()).hexdigest()
    if table.shape[1] != config.head_dim // 2:
        raise FormatError(f"rope: the tables must have {config.head_dim // 2} columns, got {table.shape[1]}")
    length = min(config.context_length, len(table))
    fields = {name: getattr(config, name) for name in Config.__dataclass_fields__}
    baked = BakedConfig(**fields | {"context_length": length}, table=table)
    hashes = {"rope": ChunkHashes(table.nbytes, table.nbytes, (digest,))}
    return replace(made, config=baked, source=source, identity=identity_of(config, tensors, hashes))


def _hf_name(name: str) -> str:
    """What Hugging Face's files call the tensor that bitgpu calls `name`."""
    if name == "lm_head":
        return "lm_head.weight"
    if name.endswith(".final_norm_layernorm"):
        return "model.norm.weight"
    return f"model.{name.replace('.attn.', '.self_attn.')}.weight"


async def _read(files: Files, run: Run) -> bytes:
    if run.nbytes > _MAX_CONSTANT_BYTES:
        raise FormatError(f"{run.what} must be at most {_MAX_CONSTANT_BYTES} bytes long, got {run.nbytes}")
    data, _ = await files.reader(run.file)(run.start, run.nbytes)
    if len(data) != run.nbytes:
        raise FormatError(f"{run.what} must be {run.nbytes} bytes at byte {run.start} of {run.file}, got {len(data)}")
    return data


async def _check_constants(files: Files, model: OneBitModel) -> None:
    """The tables of codes and the zero points are those by which a weight is its sign times its scale."""
    for name, run in model.luts.items():
        check_lut(run, name, await _read(files, run))
    gate = asyncio.Semaphore(_REQUESTS)

    async def check(run: Run, bits: int, groups: int) -> None:
        async with gate:
            check_zeros(run, bits, groups, await _read(files, run))

    await asyncio.gather(*(check(*zeros) for zeros in unique(model.zeros)))


async def _rope_table(files: Files, model: OneBitModel) -> NDArray[np.float32] | None:
    """(positions, D / 2, 2): the file's own cosines and sines, or None where it has none."""
    if model.cos is None and model.sin is None:
        return None
    if model.cos is None or model.sin is None or model.cos[1] != model.sin[1]:
        found = [cache and list(cache[1]) for cache in (model.cos, model.sin)]
        raise FormatError(f"rope: cos_cache and sin_cache must both be there and of one shape, got {found}")
    (cos, shape), (sin, _) = model.cos, model.sin
    both = [np.frombuffer(await _read(files, run), "<f4").reshape(shape) for run in (cos, sin)]
    return np.stack(both, axis=2)
