"""A model's files opened, whatever their form: what it computes, where its weights lie, and how it reads text."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from types import ModuleType
from typing import Any

from webxpu.errors import FormatError, Unsupported
from webxpu.formats.bitgpu import is_bitgpu
from webxpu.formats.converted import MANIFEST_NAME, ChunkHashes, is_manifest
from webxpu.formats.gguf import Gguf, read_gguf
from webxpu.formats.onnx_one_bit import looks_like_onnx
from webxpu.formats.tensor_info import TensorInfo
from webxpu.formats.window import ReadRange, begun
from webxpu.gpu.seam import Bridge
from webxpu.llm import models
from webxpu.llm.config import Config, architecture_of, config_from_gguf
from webxpu.llm.files import Files
from webxpu.llm.source import Source
from webxpu.llm.weights import Weights, rope_factors
from webxpu.text.gguf_tokenizer import eos_ids
from webxpu.text.template import ChatTemplate
from webxpu.text.tokenizers import AnyTokenizer, tokenizer_from_gguf


@dataclass(frozen=True)
class Checkpoint:
    """A model that was opened; none of its weights has been read.

    architecture   the module in `webxpu.llm.models` that computes it
    config, weights  its numbers, and where in `source` or beside it each weight lies
    tokenizer      text to ids and back, or None where webxpu knows none like it; `no_tokenizer` is then the reason
    template       the chat template, or None
    eos_ids        ids that end a reply
    identity       a hash of the configuration and the table of tensors
    source         the file with the weights; those of other files lie beside it
    form           what kind of source it was: "gguf", "safetensors", "converted", "bitgpu" or "onnx"
    tensors        the table of tensors that the weights are made of
    hashes         by file, what it must hold; of converted checkpoints
    """

    architecture: ModuleType
    config: Config
    weights: Weights
    tokenizer: AnyTokenizer | None
    template: ChatTemplate | None
    eos_ids: tuple[int, ...]
    identity: str
    source: Source
    no_tokenizer: str = field(default="", kw_only=True)
    form: str = field(kw_only=True)
    tensors: Mapping[str, TensorInfo] = field(default_factory=dict, kw_only=True, repr=False)
    hashes: Mapping[str, ChunkHashes] = field(default_factory=dict, kw_only=True, repr=False)


async def open_checkpoint(source: str | Source, bridge: Bridge) -> Checkpoint:
    """Opens a model by what its files hold:

    a GGUF file, of a split model the first part; a Hugging Face folder, by its address with a "/" at the end or that of
    its config.json; a folder that `webxpu convert` made, or one of bitgpu, by its address or that of its manifest.json;
    an ONNX file with 1-bit weights, whose config.json lies beside it or in the folder above.

    Raises FormatError for broken files, with the files that were looked for where a folder lacks one; Unsupported for
    what this version cannot compute; TemplateError for a chat template that is no Jinja; FetchError; ShapeError for
    what names no source.
    """
    from webxpu.llm import converted_checkpoint, hf_checkpoint, one_bit_checkpoint

    where = Source.parse(source)
    files = Files(where, bridge)
    if where.place.endswith("/"):
        manifest, values = await asyncio.gather(files.find_json(MANIFEST_NAME), files.find_json("config.json"))
        if manifest is not None and is_manifest(manifest):
            return await converted_checkpoint.open_converted(files, manifest)
        if manifest is not None and is_bitgpu(manifest):
            return await one_bit_checkpoint.open_bitgpu(files, manifest)
        if values is not None:
            return await hf_checkpoint.open_folder(files, values)
        raise files.incomplete("a config.json or a manifest.json")
    reader, head = await begun(where.reader(bridge))
    if head.lstrip()[:1] == b"{":
        values = await files.find_json(where.name)
        if values is not None and is_manifest(values):
            return await converted_checkpoint.open_converted(files, values)
        if values is not None and is_bitgpu(values):
            return await one_bit_checkpoint.open_bitgpu(files, values)
        if values is not None:
            return await hf_checkpoint.open_folder(files, values)
    if looks_like_onnx(head):
        return await one_bit_checkpoint.open_onnx(files)
    if head[8:10] == b'{"':
        raise FormatError(
            f"{where.name}: must be a whole model, got the weights of a Hugging Face folder. "
            "Name the folder, with a '/' at its end."
        )
    header = await read_gguf(reader, name=where.name, open_part=lambda name: where.sibling(name).reader(bridge))

    def part(name: str) -> ReadRange:
        return reader if name == where.name else where.sibling(name).reader(bridge)

    return open_gguf(header, where, await rope_factors(header.tensors, part))


def open_gguf(
    header: Gguf, source: Source, factors: Any = None, hashes: Mapping[str, ChunkHashes] | None = None
) -> Checkpoint:
    """A model of a GGUF header, what `rope_factors` found in the file, and hashes of its files where they are known."""
    metadata = header.metadata
    architecture = models.find(architecture_of(metadata))
    config = config_from_gguf(metadata, vocab_of(header))
    if factors is not None:
        config = config.with_rope_factors(factors)
    weights: Weights = architecture.weights(config, header.tensors)
    tokenizer, reason = unless_unknown(lambda: tokenizer_from_gguf(metadata))
    ends = tokenizer.eos_ids if tokenizer else eos_ids(metadata, config.vocab)
    return Checkpoint(
        architecture,
        config,
        weights,
        tokenizer,
        ChatTemplate.from_gguf(metadata),
        tuple(ends),
        identity_of(config, header.tensors, hashes),
        source,
        no_tokenizer=reason,
        form="gguf" if hashes is None else "converted",
        tensors=header.tensors,
        hashes=hashes or {},
    )


def vocab_of(header: Gguf) -> int:
    """Rows of the embedding; 0 where the file has none, which the architecture then reports."""
    embedding = header.tensors.get("token_embd.weight")
    return embedding.shape[0] if embedding is not None and embedding.shape else 0


def unless_unknown(make: Callable[[], AnyTokenizer]) -> tuple[AnyTokenizer | None, str]:
    """A tokenizer, or None and the reason where it is of a kind that webxpu does not know: ids do without it."""
    try:
        return make(), ""
    except Unsupported as e:
        return None, str(e)


def identity_of(
    config: Config, tensors: Mapping[str, TensorInfo], hashes: Mapping[str, ChunkHashes] | None = None
) -> str:
    """Names a model: the same for the same numbers, tensors and, where they are known, bytes of the weights."""
    table = sorted((t.name, t.type, t.shape, t.start, t.nbytes) for t in tensors.values())
    sums = sorted((file, h.sha256) for file, h in (hashes or {}).items())
    said: Any = [asdict(config), table, sums]
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()
