"""Folders that `webxpu convert` made: the table and the configuration are the manifest's, all bytes have hashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webxpu.formats.converted import PAYLOAD_NAME, read_manifest
from webxpu.formats.gguf import read_gguf_header
from webxpu.llm.checkpoint import Checkpoint, open_gguf
from webxpu.llm.files import Files
from webxpu.llm.hf_checkpoint import checkpoint_of
from webxpu.llm.weights import rope_factors


async def open_converted(files: Files, values: Mapping[str, Any]) -> Checkpoint:
    """The model of a manifest. Raises FormatError, also where bytes are not those of the manifest's hashes."""
    manifest = read_manifest(values)
    files.hashes = manifest.hashes
    if manifest.config is not None:
        return await checkpoint_of(files, manifest.config, manifest.generation, manifest.tensors, "converted")
    assert manifest.metadata is not None
    header = await read_gguf_header(files.reader(manifest.metadata), name=manifest.metadata)
    factors = await rope_factors(manifest.tensors, files.reader)
    made = replace(header, tensors=manifest.tensors, parts=())
    return open_gguf(made, files.place(PAYLOAD_NAME), factors, manifest.hashes)
