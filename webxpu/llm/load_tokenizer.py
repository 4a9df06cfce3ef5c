"""`await webxpu.load_tokenizer(source)`: a tokenizer out of whatever holds one, which its content tells."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webxpu.errors import FetchError, FormatError, ShapeError, Unsupported
from webxpu.formats.bitgpu import is_bitgpu
from webxpu.formats.converted import MANIFEST_NAME, is_manifest, read_manifest
from webxpu.formats.gguf import metadata_value, read_gguf_header
from webxpu.formats.json_text import json_object
from webxpu.formats.onnx_one_bit import looks_like_onnx
from webxpu.formats.window import ReadRange, begun, read_whole
from webxpu.llm.files import MAX_TOKENIZER_BYTES, MAX_VALUES, Files
from webxpu.llm.local_files import LocalBridge, as_bridge, local_source
from webxpu.llm.source import Source, loading
from webxpu.text.gguf_pieces import MODEL_TYPES
from webxpu.text.tokenizers import AnyTokenizer, tokenizer_from_gguf, tokenizer_from_json, tokenizer_from_model
from webxpu.text.vocabulary_json import is_vocabulary, tokenizer_from_vocabulary

CONFIG_NAME = "tokenizer_config.json"
# Of older folders, whose configuration does not say which tokens are added.
ADDED_NAME = "added_tokens.json"
KINDS = (
    "a GGUF file, a tokenizer.json, a SentencePiece model, a vocabulary JSON of `webxpu convert tokenizer`, or a file "
    "of a model's folder"
)
# Fields that a ModelProto may begin with: pieces, specs, samples; all of them are bytes.
_MODEL_KEYS = tuple(number << 3 | 2 for number in range(1, 6))
_TIKTOKEN = re.compile(rb"[A-Za-z0-9+/]+={0,2} \d+\r?\n")
# What a file that is none of these often is, by its first bytes.
_STRANGERS = {
    rb"(?i)\s*<(!doctype|html|\?xml|!--)": "a web page",
    rb"version https://git-lfs": "a Git LFS pointer, which stands for a file that is not downloaded yet,",
    rb"\x1f\x8b": "gzip, which is to be unpacked first,",
    rb"PK\x03\x04": "a zip archive or PyTorch's weights",
    rb"\xef\xbb\xbf": "a byte order mark, which JSON has not,",
    rb"\xff\xfe|\xfe\xff|\{\x00|\x00\{": "UTF-16, where JSON is UTF-8,",
    rb"": "bytes",
}
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(//|[^/\\])")
_MODEL_NAME = "tokenizer.model"
_TEKKEN_NAME = "tekken.json"
_QUOTED_BYTES = 16
# What the JSON files of a model's folder have that say nothing of text themselves.
_FOLDER_KEYS = frozenset(
    [
        "add_bos_token",
        "added_tokens_decoder",
        "architectures",
        "bos_token",
        "chat_template",
        "eos_token",
        "eos_token_id",
        "model_type",
        "tokenizer_class",
        "weight_map",
    ]
)
_BYTES_NAME = "source"  # what messages call bytes

Settings = Mapping[str, Any]


async def load_tokenizer(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview, *, config: Settings | str | bytes | None = None
) -> AnyTokenizer:
    """A tokenizer without its model.

    source   a file's bytes; the path of a file or a folder, of Python's own file system; or a text: in CPython a path,
             in a browser what `webxpu.load` takes, which is a URL, "file:NAME", "opfs:PATH", or a folder of these with
             a "/" at its end
    config   a tokenizer_config.json or what is in it, for the tokens that begin and end a text and those that are
             added. None: the tokenizer_config.json beside the file, if there is one

    A file's content tells what it is: a tokenizer.json; a SentencePiece model (tokenizer.model, spiece.model); a GGUF
    file, of which the header alone is read, and of a split model the first part; a vocabulary JSON of `webxpu convert
    tokenizer`. Of a folder, one from Hugging Face or of `webxpu convert`, it is the tokenizer that `webxpu.load` would
    take: tokenizer.json, else tokenizer.model; other files of one, such as its config.json or model.safetensors, stand
    for the folder. Files from the network are kept in the browser's storage as those of a model are.

    Raises FormatError for what is none of these or is broken, Unsupported for tokenizers that webxpu does not know,
    FetchError where there is no such file, ShapeError for what names no source.
    """
    given = None if config is None else _config(config)
    if isinstance(source, bytes | bytearray | memoryview):
        bridge = as_bridge(_MemoryBridge(bytes(source)))
        return await open_tokenizer(Files(Source("file", _BYTES_NAME), bridge), given)
    if isinstance(source, str) and sys.platform == "emscripten":
        return await _from_browser(source, given)
    return await open_tokenizer(Files(local_source(_path(source)), as_bridge(LocalBridge())), given)


def _path(source: object) -> Path:
    if not isinstance(source, str | os.PathLike) or not os.fspath(source):
        rule = "bytes, a path, or in a browser a URL, 'file:NAME' or 'opfs:PATH'"
        raise ShapeError(f"load_tokenizer: source must be {rule}, got {source!r:.80}")
    path = Path(source)
    if isinstance(source, str) and _URL.match(source) and not path.exists():
        raise ShapeError(
            f"load_tokenizer: source must be bytes or a path outside of a browser, got {source!r:.200}. "
            "Download the file and give its path."
        )
    if not path.exists():
        raise _missing(f"load_tokenizer: no file or folder {path}")
    return path


async def _from_browser(source: str, given: Settings | None) -> AnyTokenizer:
    bridge: Any = importlib.import_module("webxpu.bridge")
    await bridge.start()
    where = Source.parse(source)
    made, _ = await loading(where, bridge, lambda place: open_tokenizer(Files(place, bridge), given), cache=True)
    return made


class _MemoryBridge:
    """One file, without others beside it."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    async def fetch_range(self, source: Mapping[str, Any], start: int, nbytes: int) -> dict[str, Any]:
        if source["file"] != _BYTES_NAME:
            raise _missing(f"bytes have no {source['file']} beside them")
        return {"bytes": self.data[start : start + nbytes], "total": len(self.data), "etag": None}


def _missing(text: str) -> FetchError:
    error = FetchError(text)
    error.missing = True
    return error


def _config(config: object) -> Settings:
    if isinstance(config, Mapping):
        return config
    if isinstance(config, str | bytes):
        data = config.encode(errors="replace") if isinstance(config, str) else config
        return json_object(data, name="config", most=MAX_VALUES)
    raise ShapeError(f"load_tokenizer: config must be a mapping or JSON, got {type(config).__name__}")


async def open_tokenizer(files: Files, given: Settings | None = None) -> AnyTokenizer:
    """The tokenizer of the file or folder that is the source of `files`; see `load_tokenizer`."""
    where = files.source
    if where.place.endswith("/"):
        manifest = await files.find_json(MANIFEST_NAME)
        return await _of_folder(files, given, manifest if manifest is not None and is_manifest(manifest) else None)
    reader, head = await begun(where.reader(files.bridge))
    if head[:4] == b"GGUF":
        return await _of_gguf(reader, where.name, given)
    if _is_json(head):
        return await _of_json(files, await read_whole(reader, where.name, MAX_TOKENIZER_BYTES), given)
    if head[4:10] == b'\0\0\0\0{"':  # safetensors
        return await _of_folder(files, given)
    if looks_like_onnx(head):
        return await _beside_graph(files, given)
    if _TIKTOKEN.match(head) or _is_model(head):
        data = await read_whole(reader, where.name, MAX_TOKENIZER_BYTES)
        return await _of_model(files, data, where.name, await _settings(files, given))
    raise _unknown(where.name, head)


def _unknown(name: str, head: bytes, found: str = "") -> FormatError:
    if not found:
        likely = next(name for start, name in _STRANGERS.items() if re.match(start, head))
        found = likely if head else "an empty file"
    quoted = f" {head[:_QUOTED_BYTES].hex(' ')}" if head else ""
    return FormatError(f"{name}: must be {KINDS}, got {found}{quoted}")


def _is_json(head: bytes) -> bool:
    """Whether a file begins as JSON does: a ModelProto can begin with what looks like white space and a bracket, but
    has control characters soon."""
    return head.lstrip()[:1] == b"{" and not any(byte < 0x20 and byte not in b"\t\n\r" for byte in head)


def _is_model(head: bytes) -> bool:
    return bool(head) and head[0] in _MODEL_KEYS


async def _of_gguf(reader: ReadRange, name: str, given: Settings | None) -> AnyTokenizer:
    _refuse_config(given, "a GGUF file")
    metadata = (await read_gguf_header(reader, name=name)).metadata
    if "tokenizer.ggml.model" not in metadata:
        part = metadata.get("split.no", 0)
        rest = f" of part {part}: a split model has its tokenizer in its first" if part else ""
        raise FormatError(f"{name}: must have a tokenizer, got metadata without tokenizer.ggml.model{rest}")
    if metadata_value(metadata, "tokenizer.ggml.model", str) not in MODEL_TYPES:
        await _start_library()
    return tokenizer_from_gguf(metadata)


async def _of_json(files: Files, data: bytes, given: Settings | None) -> AnyTokenizer:
    name = files.source.name
    values = _object(data, name)
    if isinstance(values.get("model"), Mapping):
        return await _of_tokenizer_json(values, await _settings(files, given))
    if is_vocabulary(values):
        _refuse_config(given, "a vocabulary JSON")
        return tokenizer_from_vocabulary(values, name)
    if is_manifest(values):
        return await _of_folder(files, given, values)
    if is_bitgpu(values) or _FOLDER_KEYS & values.keys():
        return await _of_folder(files, given)
    if isinstance(values.get("vocab"), list) and isinstance(values.get("config"), Mapping):
        raise _no_tiktoken(name, "a tekken file")
    raise _unknown(name, data, f"JSON with the keys {', '.join(map(repr, [*values][:6])) or '(none)'}:")


def _object(data: bytes, name: str) -> dict[str, Any]:
    """The object in a JSON file. `json` is the faster by far for vocabularies; what it refuses, the reader of JSON
    refuses with the place."""
    try:
        values = json.loads(data.decode())  # of bytes it would take UTF-16, and a byte order mark
    except (ValueError, RecursionError):
        values = None
    return values if isinstance(values, dict) else json_object(data, name=name, most=MAX_VALUES)


async def _of_tokenizer_json(values: Settings, settings: Settings) -> AnyTokenizer:
    model = values.get("model")
    if not (isinstance(model, Mapping) and model.get("type") == "Unigram"):
        await _start_library()
    return tokenizer_from_json(values, settings)


async def _of_model(files: Files, data: bytes, name: str, settings: Settings) -> AnyTokenizer:
    if _TIKTOKEN.match(data):
        raise _no_tiktoken(name, "a tiktoken file")
    if not _is_model(data):
        raise _unknown(name, data)
    added = None if "added_tokens_decoder" in settings else await files.find_json(ADDED_NAME)
    return tokenizer_from_model(data, settings, added, name=name)


def _no_tiktoken(name: str, what: str) -> Unsupported:
    return Unsupported(f"{name}: {what}, a table of byte-level ranks, is not supported; use the model's tokenizer.json")


async def _settings(files: Files, given: Settings | None) -> Settings:
    return given if given is not None else await files.find_json(CONFIG_NAME) or {}


def _refuse_config(given: Settings | None, what: str) -> None:
    if given is not None:
        raise ShapeError(f"load_tokenizer: config must be None for {what}, which says all itself, got one")


async def _of_folder(files: Files, given: Settings | None, manifest: Settings | None = None) -> AnyTokenizer:
    """manifest   that of a checkpoint of `webxpu convert`"""
    if manifest is not None:
        described = read_manifest(manifest)
        files.hashes = described.hashes
        if described.metadata is not None:
            return await _of_gguf(files.reader(described.metadata), described.metadata, given)
    made = await tokenizer_of(files, await _settings(files, given))
    if made is not None:
        return made
    if files.source.place == _BYTES_NAME:
        raise FormatError(f"{_BYTES_NAME}: must be {KINDS.partition(', or a file')[0]}, got another file of a model")
    if await files.exists(_TEKKEN_NAME):
        raise _no_tiktoken(_TEKKEN_NAME, "a tekken file")
    raise files.incomplete("a tokenizer")


async def _beside_graph(files: Files, given: Settings | None) -> AnyTokenizer:
    """Of an ONNX file: the tokenizer of its folder or, as such files often lie in one of their own, of that above."""
    above = files.source.above()
    if above is not None and not await files.exists("tokenizer.json") and not await files.exists("tokenizer.model"):
        return await _of_folder(Files(above, files.bridge), given)
    return await _of_folder(files, given)


async def tokenizer_of(files: Files, settings: Settings) -> AnyTokenizer | None:
    """The tokenizer of a folder with these settings in its tokenizer_config.json: that of tokenizer.json, else that of
    tokenizer.model; None where it has neither. Raises FormatError, Unsupported, FetchError."""
    described = await files.find("tokenizer.json", MAX_TOKENIZER_BYTES)
    if described is not None:
        return await _of_tokenizer_json(_object(described, "tokenizer.json"), settings)
    pieces = await files.find(_MODEL_NAME, MAX_TOKENIZER_BYTES)
    return None if pieces is None else await _of_model(files, pieces, _MODEL_NAME, settings)


async def _start_library() -> None:
    """Sees to it that the library that cuts byte-level BPE is there: in a browser it is the bridge's."""
    if sys.platform == "emscripten":
        await importlib.import_module("webxpu.bridge").start()
