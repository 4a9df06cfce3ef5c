"""Text to ids and back for SentencePiece models, equal to sentencepiece 0.2.3 and in plain Python.

A model comes as the bytes of its file; nothing is looked up in other files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from webxpu.errors import ShapeError
from webxpu.formats.sentencepiece_model import PieceType, SentencePieceModel, read_sentencepiece_model
from webxpu.text.added_tokens import AddedToken, Names, checked_added, marked, renamed
from webxpu.text.checks import checked_text
from webxpu.text.hf_tokenizer import TURN_ENDS, is_mark
from webxpu.text.sentencepiece_rules import Decoder, ModelRules, Rules

_FOUND = (PieceType.CONTROL, PieceType.UNKNOWN)
_NAMED = (*_FOUND, PieceType.BYTE)
# Which names are tokens in a text: all, without special ones, or as in a text that somebody wrote in a chat.
_WHICH: dict[str, Callable[[AddedToken], bool]] = {
    "all": lambda token: bool(token.content),
    "plain": lambda token: not token.special,
    "parts": lambda token: not token.special and not is_mark(token.content),
}


class _Surfaces(dict[int, str | int]):
    """What ids add to a text, made when they are asked for."""

    def __init__(self, make: Callable[[int], str | int]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, index: int) -> str | int:
        self[index] = found = self._make(index)
        return found


class SentencePiece:
    """A SentencePiece model as a tokenizer; `TextStream` decodes with it too.

    What only training asks for, drawn and n-best ways to cut a text, is not here; nor are offsets into the text.

    vocab_size   ids are below it; between added tokens there may be some that are none
    special_ids  control pieces and special added tokens, which `decode` leaves out unless told otherwise
    unk_id       the unknown piece, or -1
    bos_id, pad_id   the piece that begins a text, the one that fills rows; or None
    eos_ids      every piece that ends a text or a turn, the file's own first
    add_bos, add_eos     whether `add_special` puts bos_id first, the first of eos_ids last. No model file says so:
                         Llama and Mistral want the first, T5 the second.
    surfaces     what each id adds inside a text: a byte as a number
    literal_ids  ids that decode to their names, whatever is around them

    added        tokens that the model lacks, or that it has under this name or another: then the new one counts. They
                 decide for control pieces, too, whether they are special and what white space they take with them.
    prefix_every_span    whether a span after an added token or a control piece's name gets the model's word boundary,
                 as a text does
    longest_first        how names are found, see `Splitter`
    rules        how texts become stretches that are cut, and ids text; None: as the model says

    Raises ShapeError for added tokens that clash.
    """

    def __init__(
        self,
        model: SentencePieceModel,
        *,
        added: Iterable[AddedToken] = (),
        add_bos: bool = False,
        add_eos: bool = False,
        prefix_every_span: bool = False,
        longest_first: bool = False,
        rules: Rules | None = None,
    ) -> None:
        self.model = model
        # A name of a special piece hides a piece of the text that is spelled like it.
        texts = model.columns.texts
        self._ids = {text: index for index, text in enumerate(texts) if text != "\0"}
        self._ids |= {texts[index]: index for index in model.columns.ids_of(*_NAMED) if texts[index] != "\0"}
        self.added = checked_added((marked(token) for token in added), self._ids)
        own = renamed(model, self.added)
        for token in self.added:
            before = texts[token.id] if token.id < len(texts) else token.content
            if before != token.content and self._ids.get(before) == token.id:
                del self._ids[before]
        self._ids |= {token.content: token.id for token in self.added}
        size = len(texts)
        self.vocab_size = max((size, *(token.id + 1 for token in self.added)))
        self.pieces = [*own.columns.texts, *[""] * (self.vocab_size - size)]
        for token in self.added:
            self.pieces[token.id] = token.content
        self._holes = frozenset(range(size, self.vocab_size)).difference(token.id for token in self.added)
        self._rules: Rules = ModelRules(own) if rules is None else rules
        self.unk_id = model.unk_id
        names = {i: AddedToken(i, self.pieces[i], special=True) for i in own.columns.ids_of(*_FOUND)}
        names |= {token.id: token for token in self.added}
        self._names = {
            which: Names(filter(chosen, names.values()), self._rules.normalize, longest_first=longest_first)
            for which, chosen in _WHICH.items()
        }
        self._by_id = names
        self.special_ids = frozenset(i for i, token in names.items() if token.special and i != self.unk_id)
        self.literal_ids = frozenset(names) - {self.unk_id}
        self.bos_id, eos_id, self.pad_id = (self._control(model.names[role]) for role in ("bos", "eos", "pad"))
        ends = (index for index in sorted(self.special_ids) if self.pieces[index] in TURN_ENDS)
        self.eos_ids = tuple(dict.fromkeys((*(() if eos_id is None else (eos_id,)), *ends)))
        self.add_bos = self._asked("add_bos", add_bos, self.bos_id is not None)
        self.add_eos = self._asked("add_eos", add_eos, bool(self.eos_ids))
        self.prefix_every_span, self.longest_first = prefix_every_span, longest_first
        self.strip_left = 0  # `id_decoder` does it
        self._types = own.columns.types
        self.surfaces = _Surfaces(self._surface)

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        name: str = "tokenizer.model",
        *,
        added: Iterable[AddedToken] = (),
        add_bos: bool = False,
        add_eos: bool = False,
        prefix_every_span: bool = False,
    ) -> SentencePiece:
        """From a file's bytes. Raises FormatError, and Unsupported for what is not known here."""
        model = read_sentencepiece_model(data, name)
        return cls(model, added=added, add_bos=add_bos, add_eos=add_eos, prefix_every_span=prefix_every_span)

    def encode(
        self, text: str, *, add_special: bool = False, parse_special: bool = True, reverse: bool = False
    ) -> list[int]:
        """Ids of a text.

        add_special    puts the pieces around it that were asked for when the tokenizer was made
        parse_special  a control piece's name in the text is that piece, and the spans between are texts of their own;
                       False is what sentencepiece does: it is text like any other. Added tokens that are not special
                       are found either way.
        reverse        the text's ids from the last to the first; what stands around them stays where it is
        Raises ShapeError for a lone surrogate.
        """
        ids = [index for _, index in self._found(text, "all" if parse_special else "plain")]
        if reverse:
            ids.reverse()
        before, after = self._around() if add_special else ((), ())
        return [*before, *ids, *after]

    @property
    def rules(self) -> Rules:
        """How texts become stretches that are cut, and ids text."""
        return self._rules

    @property
    def special_names(self) -> dict[str, int]:
        """Control pieces, special added tokens, others that are marks of a chat by their form, and the unknown one, by
        name."""
        return {t.content: i for i, t in sorted(self._by_id.items()) if t.special or is_mark(t.content)}

    def encode_parts(self, parts: Sequence[str | int]) -> list[int]:
        """Ids of texts with control pieces between them, as one text would be: `special_names` in the texts are no
        pieces. Raises ShapeError for a lone surrogate."""
        ids: list[int] = []
        final, space = len(parts) - 1, self._names["parts"].raw.space
        for i, part in enumerate(parts):
            if isinstance(part, int):
                ids.append(part)
                continue
            before, after = (self._token(parts[k]) if 0 <= k <= final else None for k in (i - 1, i + 1))
            text = part.lstrip(space) if before is not None and before.rstrip else part
            text = text.rstrip(space) if after is not None and after.lstrip else text
            ids += [index for _, index in self._found(text, "parts", i == 0, i == final)]
        return ids

    def encode_pieces(
        self,
        text: str,
        *,
        add_special: bool = False,
        parse_special: bool = False,
        reverse: bool = False,
        emit_unk_piece: bool = False,
    ) -> list[str]:
        """The pieces of a text, with the options of `encode`.

        emit_unk_piece   the unknown piece's name in place of a text that is no piece of the vocabulary
        """
        pieces = [piece for piece, _ in self._found(text, "all" if parse_special else "plain")]
        if emit_unk_piece and self.unk_id >= 0:
            pieces = [self.pieces[self.piece_to_id(piece)] for piece in pieces]
        if reverse:
            pieces.reverse()
        before, after = self._around() if add_special else ((), ())
        return [*(self.pieces[i] for i in before), *pieces, *(self.pieces[i] for i in after)]

    def normalize(self, text: str) -> str:
        """The text as it is cut. Raises ShapeError for a lone surrogate."""
        return self._rules.normalize(checked_text(text), first=True, last=True) if text else ""

    def id_to_piece(self, token_id: int) -> str:
        """The piece. Raises ShapeError for no id."""
        return self.pieces[self.valid_id("id_to_piece", token_id)]

    def piece_to_id(self, piece: str) -> int:
        """The id, or that of the unknown piece."""
        return self._ids.get(piece, self.unk_id)

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a piece stands for inside a text; a control piece's are its name. Raises ShapeError."""
        surface = self.surfaces[self.valid_id("token_bytes", token_id)]
        if isinstance(surface, int):
            return bytes([surface])
        return surface.encode()

    def id_to_token(self, token_id: int) -> str | None:
        """The text that an id alone stands for; None for a control piece, the unknown one, part of a character, and for
        no id."""
        if (
            not 0 <= token_id < self.vocab_size
            or token_id == self.unk_id
            or token_id in self.special_ids
            or token_id in self._holes
        ):
            return None
        try:
            return self.token_bytes(token_id).decode()
        except UnicodeDecodeError:
            return None

    def decode(self, ids: Iterable[int], *, skip_special: bool = True) -> str:
        """The text of ids. Each byte that is no UTF-8 becomes a U+FFFD.

        skip_special   leaves out control pieces and puts the model's sign for an unknown one, as sentencepiece does;
                       False gives the names of both
        """
        decoder = self.id_decoder(skip_special=skip_special)
        return decoder.push(ids) + decoder.finish()

    def decode_pieces(self, pieces: Iterable[str]) -> str:
        """The text of pieces. One that the vocabulary lacks stands for itself."""
        decoder = self.id_decoder(skip_special=True)
        return "".join([decoder.put(self.piece_to_id(piece), piece) for piece in pieces]) + decoder.finish()

    def id_decoder(self, *, skip_special: bool = True) -> Decoder:
        """A decoder that takes ids as they come."""
        return self._rules.decoder(self, skip_special=skip_special)

    def _around(self) -> tuple[Sequence[int], Sequence[int]]:
        """What `add_special` puts before a text and after it."""
        return self._rules.around or (
            (self.bos_id,) if self.add_bos and self.bos_id is not None else (),
            self.eos_ids[:1] if self.add_eos else (),
        )

    def _control(self, name: str) -> int | None:
        index = self._ids.get(name)
        return index if index in self.special_ids else None

    def _asked(self, option: str, asked: bool, there: bool) -> bool:
        if asked and not there:
            raise ShapeError(f"SentencePiece: {option} must be False for a model without such a piece, got True")
        return asked

    def valid_id(self, where: str, token_id: int) -> int:
        """The id. Raises ShapeError, in the name of a call, for one that the vocabulary does not have."""
        if not 0 <= token_id < self.vocab_size or token_id in self._holes:
            raise ShapeError(f"{where}: id must be one of {self.vocab_size} pieces, got {token_id}")
        return token_id

    def _surface(self, index: int) -> str | int:
        """What an id adds to a text: a byte as a number."""
        piece = self.pieces[index]
        if index >= len(self._types) or index in self.literal_ids:
            return piece
        if self._types[index] == PieceType.BYTE:
            return int(piece[3:5], 16)
        return self.model.unk_surface if self._types[index] == PieceType.UNKNOWN else self._rules.surface(piece)

    def _token(self, part: str | int) -> AddedToken | None:
        return self._by_id.get(part) if isinstance(part, int) else None

    def _found(self, text: str, which: str, first: bool = True, last: bool = True) -> list[tuple[str, int]]:
        """Pieces and ids of a text, tokens of `which` names among them.

        first, last   whether the text begins, and ends, where a text's own word boundary belongs
        """
        names, every = self._names[which], self.prefix_every_span
        spans = names.raw.split(checked_text(text))
        final = len(spans) - 1
        out: list[tuple[str, int]] = []
        for i, (token, span) in enumerate(spans):
            if token is not None:
                out.append((self.pieces[token.id], token.id))
                continue
            starts, ends = every or (first and i == 0), every or (last and i == final)
            normal = self._rules.normalize(span, first=starts, last=ends)
            if not names.normal:
                self._cut(normal, starts, ends, out, which)
                continue
            parts = names.normal.split(normal)
            for k, (named, part) in enumerate(parts):
                if named is not None:
                    out.append((self.pieces[named.id], named.id))
                else:
                    begins, closes = every or (starts and k == 0), every or (ends and k == len(parts) - 1)
                    self._cut(part, begins, closes, out, which)
        return out

    def _cut(self, normal: str, first: bool, last: bool, out: list[tuple[str, int]], which: str) -> None:
        """Adds the pieces and ids of normalised text. Unknown ones become bytes, or a run of them one."""
        rules, unk_id, byte_ids = self._rules, self.unk_id, self.model.byte_ids
        for stretch in rules.stretches(normal, first=first, last=last):
            unknowns: list[str] = []  # joined once: a run may be as long as the text
            for piece, index in rules.cut(stretch, names=which == "all"):
                if index != unk_id:
                    if unknowns:
                        out.append(("".join(unknowns), unk_id))
                        unknowns = []
                    out.append((piece, index))
                elif byte_ids:
                    out += [(self.pieces[byte_ids[byte]], byte_ids[byte]) for byte in piece.encode()]
                else:
                    unknowns.append(piece)
            if unknowns:
                out.append(("".join(unknowns), unk_id))
