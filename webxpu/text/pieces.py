"""From a token's piece to the bytes it stands for, in plain Python: a reply costs no call into JavaScript a token."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from webxpu.errors import Unsupported
from webxpu.text.tokenizer_json import setting, steps_of

PieceBytes = Callable[[str], bytes]


def _byte_characters() -> dict[str, int]:
    """GPT-2's printable stand-ins for bytes: printable Latin-1 is itself, the other 68 follow from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{chr(b): b for b in printable}, **{chr(0x100 + i): b for i, b in enumerate(others)}}


BYTE_OF_CHARACTER = _byte_characters()


def byte_level(piece: str) -> bytes:
    """Bytes of a byte-level piece. A piece with any other character stands for itself, as in `tokenizers`."""
    try:
        return bytes([BYTE_OF_CHARACTER[c] for c in piece])
    except KeyError:
        return piece.encode()


def piece_decoder(decoder: Mapping[str, Any] | None) -> tuple[PieceBytes, int]:
    """What a tokenizer.json's `decoder` does to one piece, and how many spaces it strips from the text's beginning.

    Raises FormatError for a broken one, Unsupported for one whose result for a piece depends on its neighbours.
    """
    if decoder is None:
        raise Unsupported("tokenizer: a tokenizer without a decoder is not supported")
    steps: list[Callable[[str], str]] = []
    strip_left = 0
    byte_fallback = False
    for step in steps_of({"decoder": decoder}, "decoder"):
        kind = step["type"]
        if kind == "ByteLevel":
            return byte_level, 0
        pattern = setting(step, "pattern", dict) if kind == "Replace" else {}
        if isinstance(pattern.get("String"), str):
            steps.append(_replacing(pattern["String"], setting(step, "content", str)))
        elif kind == "Metaspace":
            steps.append(_replacing(setting(step, "replacement", str), " "))
            prefixed = step.get("prepend_scheme", "always" if step.get("add_prefix_space", True) else "never")
            strip_left = int(prefixed != "never")
        elif kind == "Strip" and step.get("content") == " " and step.get("stop") == 0:
            strip_left = setting(step, "start", int)
        elif kind == "ByteFallback":
            byte_fallback = True
        elif kind != "Fuse":
            raise Unsupported(f"tokenizer: the decoder {kind} is not supported")

    def decode(piece: str) -> bytes:
        if byte_fallback and len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            try:
                return bytes.fromhex(piece[3:5])
            except ValueError:
                pass
        for step in steps:
            piece = step(piece)
        return piece.encode()

    return decode, strip_left


def _replacing(old: str, new: str) -> Callable[[str], str]:
    return lambda piece: piece.replace(old, new)
