"""Names that llama.cpp finds in a text before it cuts the rest: what a GGUF file's token types mean for its texts.

https://github.com/ggml-org/llama.cpp/blob/ef035f779276d5f5636a0fd8cbeff6a83d646d2b/src/llama-vocab.cpp
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from webxpu.formats.sentencepiece_model import Pieces, PieceType, SentencePieceModel
from webxpu.text.added_tokens import AddedToken
from webxpu.text.gguf_tokenizer import token_pieces
from webxpu.text.hf_tokenizer import TURN_MARKS

# User-defined pieces that are control pieces to llama.cpp, which knows them as ends of texts and turns by these names.
ENDS = frozenset(
    ("</s>", "<eos>", "[EOS]", "<EOT>", "_<EOT>", "[EOT]", "<end_of_utterance>", "<turn|>", "<|tool_response>", "[e~[",
     "<|return|>", "<|call|>", "<|calls|>", "<|flush|>", "<\uff5cend\u2581of\u2581sentence\uff5c>")
)  # fmt: skip
# Control pieces that do not take the white space after them where the others do.
_PHI3_PLAIN = ("<unk>", "<s>", "<|endoftext|>")


def with_control_pieces(model: SentencePieceModel, names: AbstractSet[str] = TURN_MARKS | ENDS) -> SentencePieceModel:
    """The model, to which pieces of these names are control pieces even where its file calls them user-defined."""
    columns = model.columns
    marks = [index for index in columns.ids_of(PieceType.USER_DEFINED) if columns.texts[index] in names]
    if not marks:
        return model
    types = bytearray(columns.types)
    for index in marks:
        types[index] = PieceType.CONTROL
    return replace(model, pieces=Pieces(columns.texts, columns.scores, bytes(types)))


def added_tokens(metadata: Mapping[str, Any], model: SentencePieceModel) -> list[AddedToken]:
    """Pieces that are found as names and are more than control pieces: user-defined ones, found whether control pieces
    are or not, and those that take white space with them, which files do not say but names of models do."""
    texts = token_pieces(metadata)
    special = dict.fromkeys(model.columns.ids_of(PieceType.CONTROL, PieceType.UNKNOWN), True)
    special |= dict.fromkeys(model.columns.ids_of(PieceType.USER_DEFINED), False)
    found = {i: AddedToken(i, texts[i], special=special[i]) for i in sorted(special)}
    if _named(metadata, "general.architecture", "nomic-bert-moe", "jina-bert-v3"):
        found = {i: replace(t, lstrip=True) if t.content == "<mask>" else t for i, t in found.items()}
    elif _named(metadata, "general.name", "phi-3", "phi3"):
        found = {i: t if t.content in _PHI3_PLAIN else replace(t, rstrip=True) for i, t in found.items()}
    return [token for token in found.values() if not token.special or token.lstrip or token.rstrip]


def _named(metadata: Mapping[str, Any], key: str, *parts: str) -> bool:
    name = str(metadata.get(key, "")).lower()
    return any(part in name for part in parts)
