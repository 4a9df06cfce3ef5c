"""Broken tokenizer files: each is refused with one of the package's errors, or read and then meant as `sentencepiece`
means it."""

from __future__ import annotations

import asyncio
import functools
import json
import random
import struct
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import sentencepiece

import webxpu
from tests.text.gguf_files import gguf_bytes
from tests.text.real_files import real_file
from tests.text.sentencepiece_files import model, trained, varint
from tests.text.test_gguf_pieces import TRAINED, metadata
from tests.text.vocabularies import CONTROL, made
from webxpu.errors import FormatError, ShapeError, Unsupported
from webxpu.formats.sentencepiece_model import PieceType, SentencePieceModel, read_sentencepiece_model
from webxpu.formats.sentencepiece_writer import write_sentencepiece_model
from webxpu.text.gguf_tokenizer import tokenizer_json
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.tokenizers import AnyTokenizer, tokenizer_from_gguf

REFUSED = (FormatError, Unsupported)
TEXTS = ("the man <s> 今日は\u2603", "ｶﾞﾗｽ e\u0301 abc\n", "  a b  ", "\u3000①あ" * 5, "xyzab" * 20, "a" * 300, "")
ARCHIVED = ("unigram_bytes", "unigram_rules", "word_suffix", "bpe_suffix", "bpe_unused", "char_unused", "symbols")
REAL = ("botchan_en_unigram_1000", "seqio")
SCORES = (0.0, -0.0, 3e38, -3e38, 1e-40, 1e30, -1e30, 1e5, -1e5, float("inf"), float("nan"))
_METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
_AROUND = [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]
UNIGRAM: dict[str, Any] = {
    "added_tokens": [
        {
            "id": index, "content": name, "single_word": False, "lstrip": False, "rstrip": True, "normalized": False,
            "special": True,
        }
        for index, name in enumerate(("<unk>", "</s>"))
    ],
    "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Nmt"}, {"type": "NFKC"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ]},
    "pre_tokenizer": _METASPACE,
    "decoder": _METASPACE,
    "post_processor": {
        "type": "TemplateProcessing", "single": _AROUND, "pair": _AROUND,
        "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}},
    },
    "model": {
        "type": "Unigram", "unk_id": 0, "byte_fallback": False,
        "vocab": [["<unk>", 0.0], ["</s>", 0.0], ["\u2581", -3.0], ["\u2581he", -2.0], ["a", -2.5], ["ab", -2.2]],
    },
}  # fmt: skip


@functools.cache
def files() -> dict[str, bytes]:
    """Sound model files, the archive's and real ones."""
    archive = trained()
    return {name: archive[f"{name}.model"] for name in ARCHIVED} | {name: real_file(name).read_bytes() for name in REAL}


@functools.cache
def parsed(name: str) -> SentencePieceModel:
    return read_sentencepiece_model(files()[name], name)


@functools.cache
def described() -> list[dict[str, Any]]:
    """Sound metadata of GGUF files: of two kinds of SentencePiece and of byte-level BPE."""
    pieces = [metadata(TRAINED[f"{name}.model"]) for name in ("unigram", "bpe_bytes")]
    return [*pieces, made([("<s>", CONTROL), ("</s>", CONTROL)], ["h e", "l l"], bos_token_id=258, eos_token_id=259)]


def bytes_changed(rng: random.Random, data: bytes) -> bytes:
    """Cut, flipped, shifted, repeated or overwritten somewhere, more often near its ends."""
    size = len(data)
    near = rng.random()
    first = size - min(size, 400) if near < 0.3 else 0
    at = rng.randrange(first, min(size, 400) if 0.3 <= near < 0.5 else size)
    kind = rng.randrange(8)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    if kind == 2:
        return data[:at] + varint(rng.getrandbits(rng.choice((7, 14, 32, 64, 70)))) + data[at + rng.randrange(4) :]
    if kind == 3:
        return data[:at] + data[at + rng.randrange(1, 40) :]
    if kind == 4:
        other = rng.randrange(size)
        return data[:at] + data[other : other + rng.randrange(1, 60)] + data[at:]
    if kind == 5:
        return data[:at] + rng.randbytes(rng.randrange(1, 9)) + data[at + rng.randrange(9) :]
    if kind == 6:
        return data[:at] + b"\xff" * rng.randrange(1, 12) + data[at + 1 :]
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 30)):
        changed[rng.randrange(size)] = rng.randrange(256)
    return bytes(changed)


def charsmap_changed(rng: random.Random, charsmap: bytes) -> bytes:
    """Units, replacements and the size of the trie."""
    changed = bytearray(charsmap)
    size = int.from_bytes(charsmap[:4], "little")
    for _ in range(rng.choice((1, 1, 2, 5, 50))):
        # Units, replacements, and the units that characters of ASCII lead to.
        first, end = rng.choice(((4, 4 + size), (4 + size, len(changed)), (4, 4 + min(size, 4096))))
        place = rng.randrange(first, end)
        changed[place] = rng.randrange(256) if rng.random() < 0.5 else changed[place] ^ 1 << rng.randrange(8)
    if rng.random() < 0.1:
        changed[:4] = struct.pack("<I", rng.choice((0, 1024, size + 1024, size - 1024, 1 << 31, 2**32 - 1, size + 4)))
    return bytes(changed[: rng.randrange(len(changed))] if rng.random() < 0.1 else changed)


def piece_changed(rng: random.Random, pieces: list[tuple[str, float, int]]) -> None:
    """One piece's text, score or type, or the piece is one that was there before."""
    place = rng.randrange(len(pieces))
    text, score, kind = pieces[place]
    what = rng.randrange(5)
    if what == 0:
        score = rng.choice((*SCORES, struct.unpack("<f", rng.randbytes(4))[0]))
    elif what == 1:
        kind = rng.randrange(8)
    elif what == 2:
        kind = rng.choice((4, 5))
    elif what == 3:
        others = ("", " ", "  ", "\0", "a\0b", "\u2581" * 20, "a" * 7999, "a" * 9000, "<0x41>", "\ue000", "the man")
        text = rng.choice((*others, text + "a", text * 3, text[:-1]))
    else:
        text, score, kind = rng.choice(pieces)
    pieces[place] = text, score, kind


def fields_changed(rng: random.Random, name: str) -> bytes:
    """The model with other values in a file that is sound as such."""
    found = parsed(name)
    spec = found.normalizer
    pieces = [(p.text, p.score, int(p.type)) for p in found.pieces]
    charsmap = spec.charsmap
    if charsmap and rng.random() < 0.6:
        charsmap = charsmap_changed(rng, charsmap)
    else:
        for _ in range(rng.choice((1, 1, 2, 5, 50))):
            piece_changed(rng, pieces)
    trainer = {
        3: int(found.model_type), 24: int(found.treat_whitespace_as_suffix), 35: int(found.byte_fallback),
        44: found.unk_surface, **{45 + i: found.names[role] for i, role in enumerate(("unk", "bos", "eos", "pad"))},
    }  # fmt: skip
    flags = (spec.add_dummy_prefix, spec.remove_extra_whitespaces, spec.escape_whitespaces)
    return model(pieces, trainer, {2: charsmap, **{3 + i: int(flag) for i, flag in enumerate(flags)}})


def metadata_changed(rng: random.Random, found: dict[str, Any]) -> dict[str, Any]:
    """A key less, or a value of another type, length or range."""
    changed = dict(found)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        key = rng.choice([*changed])
        value = changed[key]
        if rng.random() < 0.15:
            del changed[key]
        elif isinstance(value, np.ndarray) and len(value) and rng.random() < 0.7:
            value = value.copy()
            value[rng.randrange(len(value))] = rng.choice((0, 1, 4, 5, 7, -1 if value.dtype.kind != "u" else 255))
            changed[key] = value if rng.random() < 0.8 else value[: rng.randrange(len(value))]
        elif isinstance(value, list) and value and rng.random() < 0.7:
            value = [*value]
            others = ("", " ", "\0", "a\0b", rng.choice(value), "a b", "\u2581" * 3, "a" * 9000, 7, None, "<0x41>")
            value[rng.randrange(len(value))] = rng.choice(others)
            changed[key] = value if rng.random() < 0.8 else value[: rng.randrange(len(value))]
        else:
            others = (0, -1, 1 << 40, 3.5, True, "x", "llama", "t5", "gpt2", [], ["a"], np.zeros(3, np.float32))
            changed[key] = rng.choice(others)
        if not changed:
            break
    return changed


def json_changed(rng: random.Random, value: Any) -> Any:
    """A JSON value with one thing in it replaced or left out."""
    if isinstance(value, dict | list) and value and rng.random() < 0.9:
        keys = [*value] if isinstance(value, dict) else range(len(value))
        key = rng.choice(keys)
        changed = value.copy()
        if rng.random() < 0.15:
            del changed[key]
        else:
            changed[key] = json_changed(rng, value[key])
        return changed
    return rng.choice(
        (None, True, 0, -1, 1 << 70, 1.5, "", "x", "a b", "\u2581", [], {}, [1], {"type": "x"}, [["a", 0]])
    )


def random_source(rng: random.Random) -> bytes:
    """What `load_tokenizer` may be given by mistake."""
    kind = rng.randrange(6)
    heads = (b"", b"GGUF", b"GGUF\3\0\0\0", b"{", b'{"model":', b"\n", b"PK\3\4", b"<!doctype html>", b"\x0a\x0e\x0a\5")
    if kind == 0:
        return rng.choice(heads) + rng.randbytes(rng.choice((0, 1, 4, 30, 300)))
    if kind == 1:
        return bytes_changed(rng, files()[rng.choice(ARCHIVED)])
    if kind == 2:
        return bytes_changed(rng, gguf_bytes(rng.choice(described())))
    if kind == 3:
        return json.dumps(json_changed(rng, rng.choice(({"model": {}}, {"a": [1, {"b": 2}]}, [], "x", 5)))).encode()
    source = rng.choice((tokenizer_json(described()[2]), UNIGRAM))
    if kind == 4:
        return bytes_changed(rng, json.dumps(source).encode())
    return json.dumps(json_changed(rng, source)).encode()


def of_file(data: bytes) -> str | None:
    return judged(lambda: SentencePiece.from_bytes(data), lambda _: data)


def _of_metadata(found: dict[str, Any]) -> str | None:
    return judged(lambda: tokenizer_from_gguf(found), _written)


def _of_source(data: bytes) -> str | None:
    json_like = data.lstrip().startswith(b"{")  # tokenizer.json has rules that no model file has
    return judged(lambda: asyncio.run(webxpu.load_tokenizer(data)), (lambda _: None) if json_like else _written)


def _written(made: AnyTokenizer) -> bytes | None:
    """The same model as a file; None for one that cuts as no file does, since it has tokens that are found first."""
    if not isinstance(made, SentencePiece) or any(p.type == PieceType.USER_DEFINED for p in made.model.pieces):
        return None
    return write_sentencepiece_model(made.model)


def judged(load: Callable[[], AnyTokenizer], file: Callable[[AnyTokenizer], bytes | None]) -> str | None:
    """What is wrong with how an input was taken, or None."""
    try:
        ours = load()
        data = file(ours)
        theirs = None if data is None else sentencepiece.SentencePieceProcessor(model_proto=data)
        for text in TEXTS:
            try:
                ids = ours.encode(text, parse_special=False)
                ours.decode(ids)
                ours.encode(text, add_special=True)
            except (*REFUSED, ShapeError):  # a rule that is broken counts where a text meets it
                continue
            if theirs is not None and theirs.encode(text) != ids:
                return f"{text!a}: sentencepiece {theirs.encode(text)}, webxpu {ids}"
    except REFUSED:
        return None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - what sentencepiece refuses, what the package trips over, a library's panic
        return traceback.format_exc()
    return None


def problem(kind: str, seed: str) -> str | None:
    """What is wrong with how the broken input of a seed was taken, or None."""
    rng = random.Random(seed)
    if kind == "bytes":
        return of_file(bytes_changed(rng, rng.choice([*files().values()])))
    if kind == "fields":
        return of_file(fields_changed(rng, rng.choice([*files()])))
    if kind == "metadata":
        return _of_metadata(metadata_changed(rng, rng.choice(described())))
    return _of_source(random_source(rng))


KINDS = ("bytes", "fields", "metadata", "source")
