"""Text to ids and back for SentencePiece models, equal to sentencepiece 0.2.3 and in plain Python.

A model comes as the bytes of its file; nothing is looked up in other files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webxpu.errors import ShapeError
from webxpu.formats.sentencepiece_model import PieceType, SentencePieceModel, read_sentencepiece_model
from webxpu.text.hf_tokenizer import TURN_ENDS
from webxpu.text.sentencepiece_normalizer import SPACE_SYMBOL, Normalizer, Symbols
from webxpu.text.sentencepiece_segment import segmenter


class SentencePiece:
    """A SentencePiece model as a tokenizer; `TextStream` decodes with it too.

    vocab_size   ids are below it
    special_ids  ids of control pieces, which `decode` leaves out unless told otherwise
    unk_id       the unknown piece, or -1
    bos_id, pad_id   the piece that begins a text, the one that fills rows; or None
    eos_ids      every piece that ends a text or a turn, the file's own first
    add_bos, add_eos     whether `add_special` puts bos_id first, the first of eos_ids last. No model file says so:
                         Llama and Mistral want the first, T5 the second.
    prefix_every_span    whether a span after a control piece's name gets the model's word boundary, as a text does
    """

    def __init__(
        self,
        model: SentencePieceModel,
        *,
        add_bos: bool = False,
        add_eos: bool = False,
        prefix_every_span: bool = False,
    ) -> None:
        self.model = model
        self.pieces = [piece.text for piece in model.pieces]
        self._types = [piece.type for piece in model.pieces]
        # A name of a special piece hides a piece of the text that is spelled like it.
        named = [
            (p.type in (PieceType.CONTROL, PieceType.UNKNOWN, PieceType.BYTE), i) for i, p in enumerate(model.pieces)
        ]
        self._ids = {self.pieces[i]: i for _, i in sorted(named) if self.pieces[i] != "\0"}
        self._normalize = Normalizer(model)
        self._segment = segmenter(model)
        self._names = Symbols(p.text for p in model.pieces if p.type in (PieceType.CONTROL, PieceType.UNKNOWN))
        self.vocab_size = len(self.pieces)
        self.special_ids = frozenset(i for i, kind in enumerate(self._types) if kind == PieceType.CONTROL)
        self.unk_id = model.unk_id
        self.bos_id, eos_id, self.pad_id = (self._control(model.names[role]) for role in ("bos", "eos", "pad"))
        ends = (index for index in sorted(self.special_ids) if self.pieces[index] in TURN_ENDS)
        self.eos_ids = tuple(dict.fromkeys((*(() if eos_id is None else (eos_id,)), *ends)))
        self.add_bos = self._asked("add_bos", add_bos, self.bos_id is not None)
        self.add_eos = self._asked("add_eos", add_eos, eos_id is not None)
        self.prefix_every_span = prefix_every_span
        self.strip_left = 0  # `id_decoder` does it
        self._surfaces = [self._surface(index) for index in range(self.vocab_size)]

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        name: str = "tokenizer.model",
        *,
        add_bos: bool = False,
        add_eos: bool = False,
        prefix_every_span: bool = False,
    ) -> SentencePiece:
        """From a file's bytes. Raises FormatError, and Unsupported for what is not known here."""
        model = read_sentencepiece_model(data, name)
        return cls(model, add_bos=add_bos, add_eos=add_eos, prefix_every_span=prefix_every_span)

    def encode(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """Ids of a text.

        add_special    puts the pieces around it that were asked for when the tokenizer was made
        parse_special  a control piece's name in the text is that piece, and the spans between are texts of their own;
                       False is what sentencepiece does: it is text like any other
        Raises ShapeError for a lone surrogate.
        """
        ids: list[int] = []
        for is_name, span, first, last in self._spans(text, parse_special):
            if is_name:
                ids.append(self._ids[span])
            else:
                ids += [index for _, index in self._pieces_of(span, first, last)]
        if add_special:
            ids[:0] = [self.bos_id] if self.add_bos and self.bos_id is not None else []
            ids += self.eos_ids[:1] if self.add_eos else ()
        return ids

    @property
    def special_names(self) -> dict[str, int]:
        """Control pieces and the unknown one by name."""
        return {
            self.pieces[i]: i for i, kind in enumerate(self._types) if kind in (PieceType.CONTROL, PieceType.UNKNOWN)
        }

    def encode_parts(self, parts: Sequence[str | int]) -> list[int]:
        """Ids of texts with control pieces between them, as one text would be: names in the texts are no pieces."""
        ids: list[int] = []
        final, every = len(parts) - 1, self.prefix_every_span
        for i, part in enumerate(parts):
            if isinstance(part, int):
                ids.append(part)
            else:
                ids += [n for _, n in self._pieces_of(_checked(part), every or i == 0, every or i == final)]
        return ids

    def encode_pieces(self, text: str, *, parse_special: bool = False) -> list[str]:
        """The pieces of a text; an unknown one is the text that it stands for."""
        pieces: list[str] = []
        for is_name, span, first, last in self._spans(text, parse_special):
            pieces += [span] if is_name else [piece for piece, _ in self._pieces_of(span, first, last)]
        return pieces

    def normalize(self, text: str) -> str:
        """The text as it is cut. Raises ShapeError for a lone surrogate."""
        return self._normalize(_checked(text))

    def id_to_piece(self, token_id: int) -> str:
        """The piece. Raises ShapeError for no id."""
        return self.pieces[self._valid("id_to_piece", token_id)]

    def piece_to_id(self, piece: str) -> int:
        """The id, or that of the unknown piece."""
        return self._ids.get(piece, self.unk_id)

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a piece stands for inside a text; a control piece's are its name. Raises ShapeError."""
        surface = self._surfaces[self._valid("token_bytes", token_id)]
        if isinstance(surface, int):
            return bytes([surface])
        return self.pieces[token_id].encode() if token_id in self.special_ids else surface.encode()

    def id_to_token(self, token_id: int) -> str | None:
        """The text that an id alone stands for; None for a control piece, the unknown one, part of a character, and for
        no id."""
        if not 0 <= token_id < self.vocab_size or token_id in (self.unk_id, *self.special_ids):
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

    def id_decoder(self, *, skip_special: bool = True) -> IdDecoder:
        """A decoder that takes ids as they come."""
        return IdDecoder(self, self._surfaces, skip_special)

    def _control(self, name: str) -> int | None:
        index = self._ids.get(name)
        return index if index in self.special_ids else None

    def _asked(self, option: str, asked: bool, there: bool) -> bool:
        if asked and not there:
            raise ShapeError(f"SentencePiece: {option} must be False for a model without such a piece, got True")
        return asked

    def _valid(self, where: str, token_id: int) -> int:
        if not 0 <= token_id < self.vocab_size:
            raise ShapeError(f"{where}: id must be one of {self.vocab_size} pieces, got {token_id}")
        return token_id

    def _surface(self, index: int) -> str | int:
        """What a piece adds to a text: a byte as a number."""
        kind, piece = self._types[index], self.pieces[index]
        if kind == PieceType.BYTE:
            return int(piece[3:5], 16)
        if kind == PieceType.CONTROL:
            return ""
        return self.model.unk_surface if kind == PieceType.UNKNOWN else piece.replace(SPACE_SYMBOL, " ")

    def _spans(self, text: str, parse_special: bool) -> Iterable[tuple[bool, str, bool, bool]]:
        """Names of special pieces and the texts between: whether it is a name, and its word boundaries' places."""
        _checked(text)
        if not parse_special:
            return [(False, text, True, True)]
        spans: list[tuple[bool, str]] = []
        parts, found = self._names.split(text)
        begin = 0
        for place in (*sorted(found), len(parts)):
            if begin < place:
                spans.append((False, "".join(parts[begin:place])))
            if place < len(parts):
                spans.append((True, parts[place]))
            begin = place + 1
        every, final = self.prefix_every_span, len(spans) - 1
        return [(name, span, every or i == 0, every or i == final) for i, (name, span) in enumerate(spans)]

    def _pieces_of(self, text: str, first: bool, last: bool) -> list[tuple[str, int]]:
        """Pieces and ids. Unknown ones become bytes, or a run of them one."""
        out: list[tuple[str, int]] = []
        unk_id, byte_ids = self.unk_id, self.model.byte_ids
        after_unknown = False
        for piece, index in self._segment(self._normalize(text, first=first, last=last)):
            unknown = index == unk_id
            if unknown and byte_ids:
                out += [(self.pieces[byte_ids[byte]], byte_ids[byte]) for byte in piece.encode()]
            elif unknown and after_unknown:
                out[-1] = (out[-1][0] + piece, index)
            else:
                out.append((piece, index))
            after_unknown = unknown
        return out


class IdDecoder:
    """Ids in, whole characters out; made by `SentencePiece.id_decoder`."""

    def __init__(self, tokenizer: SentencePiece, surfaces: list[str | int], skip_special: bool) -> None:
        self._tokenizer, self._surfaces, self._skip_special = tokenizer, surfaces, skip_special
        spec = tokenizer.model.normalizer
        self._strips = spec.add_dummy_prefix or spec.remove_extra_whitespaces
        self._strips_all = spec.remove_extra_whitespaces
        self._begin = self._strips
        self._empty = True
        self._pending = b""

    def push(self, ids: Iterable[int]) -> str:
        """The text that these ids complete; it may be empty. Raises ShapeError for no id."""
        valid, pieces = self._tokenizer._valid, self._tokenizer.pieces
        return "".join([self.put(index, pieces[valid("decode", index)]) for index in ids])

    def finish(self) -> str:
        """What is left after the last id: U+FFFD for each byte of an incomplete character. The decoder starts anew."""
        rest = self._flushed()
        self._begin, self._empty = self._strips, True
        return rest

    def put(self, index: int, piece: str) -> str:
        """`push` for one piece that may not be the vocabulary's: then `index` is the unknown piece's."""
        surface = self._surfaces[index] if index >= 0 else ""
        if isinstance(surface, int):
            self._pending += bytes([surface])
            return self._noted(self._complete())
        text = self._flushed()
        if not self._empty:
            self._begin = False
        if index in self._tokenizer.special_ids:
            return text if self._skip_special else text + self._noted(piece)
        if index == self._tokenizer.unk_id and not self._skip_special:
            return text + self._noted(piece)
        boundary = self._begin and piece.startswith(SPACE_SYMBOL)
        if index == self._tokenizer.unk_id:
            own = index >= 0 and self._tokenizer.pieces[index] == piece
            surface = surface if own else piece
        elif boundary:
            surface = surface[1:]
        if boundary and not self._strips_all:
            self._begin = False
        return text + self._noted(surface)

    def _noted(self, text: str) -> str:
        self._empty = self._empty and not text
        return text

    def _complete(self) -> str:
        """Takes from the pending bytes what later ones cannot change."""
        out = ""
        while self._pending:
            try:
                out += self._pending.decode()
                self._pending = b""
            except UnicodeDecodeError as e:
                out += self._pending[: e.start].decode()
                self._pending = self._pending[e.start :]
                if e.reason == "unexpected end of data":
                    break
                out += "\ufffd"
                self._pending = self._pending[1:]
        return out

    def _flushed(self) -> str:
        """The pending bytes, which no id completes any more."""
        out = ""
        while self._pending:
            out += self._complete()
            if self._pending:
                out += "\ufffd"
                self._pending = self._pending[1:]
        return self._noted(out)


def _checked(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as e:
        raise ShapeError(
            f"encode: text must have no lone surrogates, which have no UTF-8, got {text[e.start]!r} at {e.start}"
        ) from e
    return text
