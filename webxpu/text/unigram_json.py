"""tokenizer.json files with a Unigram model, as T5's and XLM-R's, equal to `tokenizers` 0.23, in plain Python."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from webxpu.errors import FormatError, ShapeError, Unsupported
from webxpu.formats.sentencepiece_model import ModelType, NormalizerSpec, Piece, PieceType, SentencePieceModel
from webxpu.text.added_tokens import AddedToken
from webxpu.text.hf_decoder import BYTE_PIECE, DecoderSteps, PieceDecoder
from webxpu.text.hf_normalizer import Normal, normalizer
from webxpu.text.hf_pretokenizer import heads_matter, pre_tokenizer
from webxpu.text.hf_tokenizer import MAX_VOCAB, is_mark
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.sentencepiece_segment import UNKNOWN_PENALTY, Unigram
from webxpu.text.tokenizer_json import refuse, setting, steps_of, token_content, unknown_piece

_STEPS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_FLAGS = ("special", "lstrip", "rstrip", "single_word", "normalized")
# Stretches whose pieces are remembered, and how long they may be: in words, most come again.
_MAX_KNOWN, _MAX_KNOWN_CHARACTERS = 65_536, 48
_NO_RULES = NormalizerSpec("", b"", 0, add_dummy_prefix=False, remove_extra_whitespaces=False, escape_whitespaces=False)


def is_unigram(described: Mapping[str, Any]) -> bool:
    """Whether a tokenizer.json's model is a Unigram one: old files have no type, but the vocabulary is a list."""
    model = described["model"]
    return bool(model.get("type", "Unigram" if isinstance(model["vocab"], list) else "BPE") == "Unigram")


def unigram_tokenizer(described: Mapping[str, Any], settings: Mapping[str, Any]) -> SentencePiece:
    """The tokenizer of a tokenizer.json whose form is checked and of the tokenizer_config.json beside it.

    `truncation` and `padding` in the file are not done: who calls decides how long a text may be, and an id that fills
    a row is no part of it. Where text has a character that no piece is made for, a vocabulary without an unknown piece
    cannot encode it; that is a ShapeError.

    Raises FormatError for a broken file, and by its name Unsupported for a step that is not known here.
    """
    rules = UnigramRules(described)
    added = _added_tokens(described, rules.ids, len(rules.pieces))
    rules.hide(added)
    model = SentencePieceModel(
        name="tokenizer.json",
        pieces=tuple(rules.pieces),
        model_type=ModelType.UNIGRAM,
        normalizer=_NO_RULES,
        treat_whitespace_as_suffix=False,
        byte_fallback=False,  # `UnigramRules.cut` does it, where it has the bytes
        byte_ids=(),
        unk_id=rules.unk_id,
        unk_surface="",
        names=dict.fromkeys(("unk", "bos", "eos", "pad"), ""),
    )
    roles = {role: token_content(settings.get(f"{role}_token")) for role in ("bos", "eos", "pad")}
    ids = {**rules.ids, **{token.content: token.id for token in added}}
    before, after = rules.around = _around(described)
    for index in (*before, *after):
        if not (0 <= index < len(rules.pieces) or index in ids.values()):
            refuse("an id of post_processor", "one of the vocabulary", index)
    made = SentencePiece(model, added=added, rules=rules)
    made.bos_id, eos_id, made.pad_id = (ids.get(roles[role]) for role in ("bos", "eos", "pad"))
    made.eos_ids = tuple(dict.fromkeys((*(() if eos_id is None else (eos_id,)), *made.eos_ids)))
    made.add_bos = made.bos_id is not None and before[:1] == (made.bos_id,)
    made.add_eos = bool(after) and after[-1] in made.eos_ids
    return made


class UnigramRules:
    """The `Rules` of such a file.

    steps, byte_fallback   what it says of what happens to a text and to ids, and of characters that no piece has
    """

    def __init__(self, described: Mapping[str, Any]) -> None:
        self.around: tuple[Sequence[int], Sequence[int]] | None = None
        self._decoder = DecoderSteps(described)
        model = described["model"]
        scored = _vocabulary(model["vocab"])
        unknown = unknown_piece(described)
        self.unk_id = -1 if unknown is None else model["unk_id"]
        byte = PieceType.BYTE if self._decoder.byte_fallback else PieceType.NORMAL
        self.pieces = [
            Piece(text, score, byte if BYTE_PIECE.fullmatch(text) else PieceType.NORMAL) for text, score in scored
        ]
        self.ids = {piece.text: i for i, piece in enumerate(self.pieces)}  # of equal ones the last counts
        self._unk_score = min(score for _, score in scored) - UNKNOWN_PENALTY
        fallback = model.get("byte_fallback", False)
        if not isinstance(fallback, bool):
            refuse("model.byte_fallback", "true or false", fallback)
        self._byte_ids = [self.ids.get(f"<0x{byte:02X}>") for byte in range(256)] if fallback else []
        self.steps = {key: described.get(key) for key in _STEPS}
        self.byte_fallback = fallback
        self._normalizer, self._pre_tokenizer = normalizer(described), pre_tokenizer(described)
        self._heads = heads_matter(described)
        self._segment = self._named = Unigram((), self.unk_id, self._unk_score, exact=True)
        self._hidden: frozenset[str] = frozenset()
        self._known: dict[str, list[tuple[str, int]]] = {}

    def hide(self, added: Iterable[AddedToken]) -> None:
        """Takes note of the tokens whose names are pieces only in texts that may name them."""
        hidden = {t.content for t in added if t.special or is_mark(t.content)}
        self._hidden = frozenset(hidden & self.ids.keys())
        self._segment = self._unigram(text for text in self.ids if text not in self._hidden)
        self._named = self._segment

    def _unigram(self, texts: Iterable[str]) -> Unigram:
        scored = ((text, self.pieces[self.ids[text]].score, self.ids[text]) for text in texts if text)
        return Unigram(scored, self.unk_id, self._unk_score, exact=True)

    def normalize(self, text: str, *, first: bool, last: bool) -> str:  # noqa: ARG002
        """The text after the file's normalizer."""
        normal = Normal(text, int(first))
        if self._normalizer is not None:
            normal = self._normalizer(normal)
        return _Headed(normal.text, normal.head if first else 0) if self._heads else normal.text

    def stretches(self, normal: str, *, first: bool, last: bool) -> Sequence[str]:  # noqa: ARG002
        """The text's parts after the file's pre-tokenizer."""
        head = normal.head if isinstance(normal, _Headed) else int(first)
        return [part.text for part in self._pre_tokenizer(Normal(str(normal), head))]

    def cut(self, stretch: str, *, names: bool) -> list[tuple[str, int]]:
        """Texts and ids of pieces, unknown ones as the file wants them."""
        if names and any(name in stretch for name in self._hidden):
            if self._named is self._segment:
                self._named = self._unigram(self.ids)
            return self._resolved(self._named(stretch), frozenset())
        found = self._known.get(stretch)
        if found is None:
            found = self._resolved(self._segment(stretch), self._hidden)
            if len(stretch) <= _MAX_KNOWN_CHARACTERS:
                if len(self._known) >= _MAX_KNOWN:
                    self._known.clear()
                self._known[stretch] = found
        return found

    def _resolved(self, pieces: list[tuple[str, int]], hidden: frozenset[str]) -> list[tuple[str, int]]:
        """The pieces, of which unknown ones that follow each other are one text: the piece of this name if there is
        one, else its bytes if there are all, else unknown."""
        if all(index != self.unk_id for _, index in pieces):
            return pieces
        out: list[tuple[str, int]] = []
        run = ""
        for text, index in (*pieces, ("", self.unk_id - 1)):
            if index == self.unk_id:
                run += text
                continue
            if run:
                out += self._unknown(run, hidden)
                run = ""
            if text:
                out.append((text, index))
        return out

    def _unknown(self, text: str, hidden: frozenset[str]) -> list[tuple[str, int]]:
        index = self.ids.get(text)
        if index is not None and text not in hidden:
            return [(text, index)]
        if self.unk_id < 0:
            raise ShapeError(
                f"encode: text must be made of the vocabulary's pieces, which have no unknown one, got {text[:80]!r}"
            )
        encoded = [self._byte_ids[byte] for byte in text.encode()] if self._byte_ids else [None]
        ids = [i for i in encoded if i is not None]
        return [(self.pieces[i].text, i) for i in ids] if len(ids) == len(encoded) else [(text, self.unk_id)]

    def surface(self, piece: str) -> str:
        """What a piece adds inside a text."""
        return self._decoder.inside(piece)

    def decoder(self, tokenizer: SentencePiece, *, skip_special: bool) -> PieceDecoder:
        """A new decoder of this tokenizer's ids."""
        return PieceDecoder(tokenizer, self._decoder, skip_special=skip_special)


class _Headed(str):
    """A normalised text that knows how much of its beginning stems from the first character; its slices do too."""

    head: int

    def __new__(cls, text: str, head: int) -> _Headed:
        made = super().__new__(cls, text)
        made.head = head
        return made

    def __getitem__(self, key: Any) -> str:
        part = super().__getitem__(key)
        if not isinstance(key, slice):
            return part
        begin, end, _ = key.indices(len(self))
        return _Headed(part, max(min(self.head, end) - begin, 0))


def _vocabulary(vocab: object) -> list[tuple[str, float]]:
    """Pieces and scores."""
    if not isinstance(vocab, list):
        refuse("model.vocab", "a list of pieces with scores in a Unigram model", vocab)
    if len(vocab) > MAX_VOCAB:
        refuse("model.vocab", f"of at most {MAX_VOCAB} pieces", len(vocab))
    for index, (text, score) in enumerate(vocab):
        if type(score) not in (int, float) or not abs(score) <= sys.float_info.max:
            refuse(f"the score of model.vocab[{index}]", "a finite number", score)
        try:
            text.encode()
        except UnicodeEncodeError as e:
            raise FormatError(f"tokenizer.json: model.vocab[{index}] must have no lone surrogates, got {text!r}") from e
    return [(text, float(score)) for text, score in vocab]


def _added_tokens(described: Mapping[str, Any], ids: Mapping[str, int], size: int) -> list[AddedToken]:
    """The added tokens. Those that the vocabulary lacks have the ids after it, one by one, whatever the file says; a
    file that says otherwise is refused."""
    found: dict[str, AddedToken] = {}
    for token in described.get("added_tokens", ()):
        content = token["content"]
        flags = {flag: token.get(flag, False) for flag in _FLAGS}
        wrong = next((flag for flag, value in flags.items() if not isinstance(value, bool)), None)
        if wrong is not None:
            refuse(f"{wrong} of the added token {content[:80]!r}", "true or false", flags[wrong])
        if not content:
            continue
        index = ids.get(content)
        if content in found:
            index = found[content].id
        if index is None:
            index = size + sum(other not in ids for other in found)
        if token["id"] != index:
            refuse(f"the id of the added token {content[:80]!r}", str(index), token["id"])
        found[content] = AddedToken(index, content, **flags)
    return list(found.values())


def _around(described: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Ids that the post-processor puts before and after a text."""
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for step in steps_of(described, "post_processor"):
        kind = step["type"]
        if kind == "TemplateProcessing":
            found.append(_template(step))
        elif kind in ("BertProcessing", "RobertaProcessing"):
            found.append(((_pair(step, "cls"),), (_pair(step, "sep"),)))
        elif kind != "ByteLevel":  # which only moves offsets
            raise Unsupported(f"tokenizer: the post-processor {kind[:40]} is not supported")
    if len(found) > 1:
        raise Unsupported("tokenizer: two post-processors that put tokens around a text are not supported")
    return found[0] if found else ((), ())


def _template(step: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    known = setting(step, "special_tokens", dict)
    sides: tuple[list[int], list[int]] = ([], [])
    texts = 0
    for part in setting(step, "single", list):
        kind, value = next(iter(part.items())) if isinstance(part, Mapping) and len(part) == 1 else ("", None)
        name = value.get("id") if isinstance(value, Mapping) else None
        if kind == "Sequence" and name == "A":
            texts += 1
        elif kind == "SpecialToken" and isinstance(name, str) and isinstance(known.get(name), Mapping):
            ids = known[name].get("ids")
            if not isinstance(ids, list) or not all(type(index) is int for index in ids):
                refuse(f"ids of {name[:40]} in the step TemplateProcessing", "a list of ids", ids)
            sides[min(texts, 1)].extend(ids)
        else:
            refuse("a part of the step TemplateProcessing", "a Sequence A or one of its special_tokens", part)
    if texts != 1:
        raise Unsupported(f"tokenizer: a TemplateProcessing must have the text once to be supported, got {texts} times")
    return tuple(sides[0]), tuple(sides[1])


def _pair(step: Mapping[str, Any], key: str) -> int:
    """The id in a token and its id."""
    pair = step.get(key)
    if not (isinstance(pair, list) and len(pair) == 2 and type(pair[1]) is int):
        refuse(f"{key} of the step {step['type']}", "a token and its id", pair)
    return int(pair[1])
