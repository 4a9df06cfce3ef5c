"""`webxpu convert`: a model's weights in another type, in a folder that `webxpu.load` opens.

Weights pass through in blocks of rows, so the largest model needs no more memory than the smallest. The folder is made
beside where it is to be, and renamed when it is complete.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.formats.converted import (
    ALIGNMENT_BYTES,
    CHUNK_BYTES,
    FORMAT,
    MANIFEST_NAME,
    METADATA_NAME,
    PAYLOAD_NAME,
    VERSION,
    is_manifest,
)
from webxpu.formats.gguf import read_gguf_header, without_tensors
from webxpu.formats.tensor_info import TensorInfo
from webxpu.host import exits
from webxpu.host.exits import BadModel, UsageError
from webxpu.host.hashed_file import HashedFile
from webxpu.host.progress import download_bars
from webxpu.llm.checkpoint import Checkpoint, open_checkpoint
from webxpu.llm.local_files import LocalBridge, as_bridge, local_source
from webxpu.llm.source import Source
from webxpu.quant.floats import F32
from webxpu.quant.ggml import BLOCK_TYPES, Blocks, dequantize
from webxpu.quant.one_bit import quantize_q1_0
from webxpu.quant.rows import ROW_TYPES, quantize_to

TYPES = ("q8", "q4g128", "q1_0")
# What a matrix becomes whose rows are no whole number of the blocks asked for.
FALLBACK = "q8"
# Float32 bytes of the rows that are in memory at once; the arithmetic takes some times as much.
BLOCK_BYTES = 2 << 20
# A Hugging Face folder's files about text, taken over as they are.
TEXT_FILES = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "added_tokens.json", "chat_template.jinja")
# The matrix that chooses experts decides too much to be rounded, and is small.
_ROUTER = re.compile(r"(\.ffn_gate_inp|\.mlp\.gate)\.weight")

Report = Callable[[str, int, int | None], None]


def convert_command(options: argparse.Namespace) -> int:
    """The command."""
    with download_bars("converting") as report:
        done = convert(
            options.source, options.folder, options.to, keep_head=options.keep_head, force=options.force, report=report
        )
    print(f"{options.folder}: {_said(done, options.to)}", file=sys.stderr)
    return exits.OK


def _said(done: Mapping[str, int], to: str) -> str:
    """What became of the matrices."""
    parts = [f"{done['matrices']} matrices in {to}"]
    if done["fallback"]:
        reason = f"since their rows are no multiple of {BLOCK_TYPES[to].elements} numbers"
        parts.append(f"{done['fallback']} in {FALLBACK}, {reason}")
    if done["kept"]:
        parts.append(f"{done['kept']} left in their own type")
    return f"{', '.join(parts)}, {done['bytes']:,} bytes"


def convert(
    source: Path,
    folder: Path,
    to: str,
    *,
    keep_head: bool = False,
    force: bool = False,
    report: Report = lambda *_: None,
) -> dict[str, int]:
    """Writes a converted checkpoint.

    source     a Hugging Face folder, or a GGUF file
    folder     where to; nothing is there before everything is
    to         "q8", "q4g128" or "q1_0", what matrices become; gains and biases become float32
    keep_head  leaves the embedding and the head in the source's type
    force      replaces a checkpoint that is there
    report     told (label, bytes done, bytes in all)

    Returns counts: "matrices" in the type, "fallback", in q8 since its blocks do not fit their rows, and "kept" in
    their own type, such as routers; "bytes" of the payload. Raises UsageError where the folder is in the way or the
    source is of another form, BadModel where there is no such source, FormatError, Unsupported, TemplateError.
    """
    if folder.exists() and not force:
        raise UsageError(f"{folder} exists; --force replaces a checkpoint")
    folder = folder.resolve()  # "." has no name and no neighbours
    if folder.exists() and not _replaceable(folder):
        raise UsageError(f"{folder} is no checkpoint of webxpu, so it is not replaced")
    bridge = LocalBridge()
    checkpoint = asyncio.run(open_checkpoint(_source(source), as_bridge(bridge)))
    if checkpoint.form == "converted":
        raise UsageError(f"{source} is converted already; convert what it was made from")
    if checkpoint.form not in ("gguf", "safetensors"):
        raise UsageError(f"{source} must be a Hugging Face folder or a GGUF file, got one of {checkpoint.form}")
    made = folder.parent / f".{folder.name}.partial"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    try:
        done = _Conversion(checkpoint, bridge, made, to, keep_head, lambda *at: report(source.name, *at)).run()
        _move(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return done


def _replaceable(folder: Path) -> bool:
    """Whether a folder is empty or a checkpoint of webxpu, with nothing in it that `convert` has not written."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else None
    if not names:
        return names is not None
    try:
        manifest = json.loads((folder / MANIFEST_NAME).read_bytes())
    except (OSError, ValueError):
        return False
    if not isinstance(manifest, dict) or not is_manifest(manifest) or not isinstance(manifest.get("files"), dict):
        return False
    return names <= {MANIFEST_NAME, *manifest["files"]}


def _source(path: Path) -> Source:
    if not path.exists():
        raise BadModel(f"no file or folder {path}")
    return local_source(path)


def _move(made: Path, folder: Path) -> None:
    """Puts the finished folder in its place; the one before it is gone only then."""
    old = folder.parent / f".{folder.name}.old"
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    try:
        made.rename(folder)
    except BaseException:
        if old.exists():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


class _Conversion:
    def __init__(
        self,
        checkpoint: Checkpoint,
        bridge: LocalBridge,
        folder: Path,
        to: str,
        keep_head: bool,
        report: Callable[[int, int], None],
    ) -> None:
        self.checkpoint, self.bridge, self.folder, self.to, self.report = checkpoint, bridge, folder, to, report
        ends = [weight for name, weight in checkpoint.weights.items() if name in ("embedding", "head")]
        self.kept = {part.name for weight in ends for part in weight.parts} if keep_head else set()
        self.matrices = {
            part.name for weight in checkpoint.weights.values() if weight.type != "float32" or len(weight.shape) > 1
            for part in weight.parts
        }  # fmt: skip
        self.total = sum(info.nbytes for info in checkpoint.tensors.values())
        self.read_bytes = 0

    def run(self) -> dict[str, int]:
        files, described = self._described()
        table, counts = self._payload(files)
        manifest = {
            "format": FORMAT, "version": VERSION, "made_by": f"webxpu convert --to {self.to}", **described,
            "chunk_bytes": CHUNK_BYTES, "files": files, "tensors": table,
        }  # fmt: skip
        text = json.dumps(manifest, ensure_ascii=False, indent=1)
        (self.folder / MANIFEST_NAME).write_text(text + "\n", "utf-8")  # last: without it the folder is no checkpoint
        return counts

    def _payload(self, files: dict[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
        """Writes the tensors one after the other."""
        table: dict[str, Any] = {}
        counts = {"matrices": 0, "fallback": 0, "kept": 0, "bytes": 0}
        with HashedFile(self.folder / PAYLOAD_NAME) as out:
            for info in sorted(self.checkpoint.tensors.values(), key=lambda t: (t.file, t.start)):
                kind = self._type_of(info)
                out.fill(-out.nbytes % ALIGNMENT_BYTES)
                table[info.name] = {"type": kind, "shape": list(info.shape), "start": out.nbytes}
                self._tensor(info, kind, out)
                if info.name in self.matrices:
                    counts["matrices" if kind == self.to else "kept" if kind == info.type else "fallback"] += 1
            files[PAYLOAD_NAME] = out.entry()
            counts["bytes"] = out.nbytes
        return table, counts

    def _type_of(self, info: TensorInfo) -> str:
        if info.name not in self.matrices:
            return "f32"
        if info.name in self.kept or _ROUTER.search(info.name):
            return info.type
        k = info.shape[-1]
        if self.to == "q1_0" and k % BLOCK_TYPES["q1_0"].elements == 0:
            return self.to
        kind = self.to if self.to in ROW_TYPES else FALLBACK
        return kind if k % ROW_TYPES[kind].multiple == 0 else info.type

    def _tensor(self, info: TensorInfo, kind: str, out: HashedFile) -> None:
        if kind == info.type:
            for raw in self._raw(info):
                out.write(raw)
            return
        scales = []
        for raw in self._raw(info):
            rows = _floats(info, raw)
            if kind == "f32":
                out.write(rows.tobytes())
            elif kind == "q1_0":
                out.write(quantize_q1_0(rows).tobytes())
            else:
                codes, scale = quantize_to(kind, rows)
                out.write(codes.tobytes())
                scales.append(scale)  # a hundredth of the weight at most
        for scale in scales:
            out.write(np.ascontiguousarray(scale, "<f4").tobytes())

    def _raw(self, info: TensorInfo) -> Iterator[bytes]:
        """A tensor's bytes, some rows at a time."""
        k = info.shape[-1]
        rows = math.prod(info.shape[:-1])
        row_bytes = info.nbytes // rows
        step = max(1, BLOCK_BYTES // (4 * k))
        path = Path(self.checkpoint.source.sibling(info.file).place)
        for row in range(0, rows, step):
            wanted = min(step, rows - row) * row_bytes
            raw = self.bridge.read(path, info.start + row * row_bytes, wanted)
            if len(raw) != wanted:
                at = info.start + row * row_bytes
                raise BadModel(f"{info.file}: tensor {info.name!r} must have {wanted} bytes at {at}, got {len(raw)}")
            self.read_bytes += wanted
            self.report(self.read_bytes, self.total)
            yield raw

    def _described(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The files beside the payload with their hashes, and what the manifest says of the configuration."""
        path = Path(self.checkpoint.source.place)
        files: dict[str, Any] = {}
        if self.checkpoint.form == "safetensors":
            texts = {name: path.with_name(name) for name in (*TEXT_FILES, "config.json", "generation_config.json")}
            found = {name: text.read_bytes() for name, text in texts.items() if text.is_file()}
            for name in found.keys() & set(TEXT_FILES):
                files[name] = self._copied(name, found[name])
            generation = found.get("generation_config.json")
            return files, {
                "config": json.loads(found["config.json"]),
                "generation": None if generation is None else json.loads(generation),
            }
        reader = Source("file", str(path)).reader(as_bridge(self.bridge))
        header = asyncio.run(read_gguf_header(reader, name=path.name))
        head = self.bridge.read(path, 0, header.metadata_bytes)
        files[METADATA_NAME] = self._copied(METADATA_NAME, without_tensors(head))
        return files, {"metadata": METADATA_NAME}

    def _copied(self, name: str, data: bytes) -> dict[str, Any]:
        with HashedFile(self.folder / name) as out:
            out.write(data)
            return out.entry()


def _floats(info: TensorInfo, raw: bytes) -> F32:
    """Rows of a tensor as float32 (N, K)."""
    data: NDArray[np.uint8] = np.frombuffer(raw, np.uint8)
    k = info.shape[-1]
    if info.type == "f32":
        return data.view("<f4").reshape(-1, k)
    rows = len(data) * math.prod(info.shape[:-1]) // info.nbytes
    return dequantize(Blocks(info.type, (rows, k), data))
