"""Text to ids and back for SentencePiece models, equal to sentencepiece 0.2.3 and in plain Python.

A model comes as the bytes of its file; nothing is looked up in other files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webxpu.errors import ShapeError
from webxpu.formats.sentencepiece_model import PieceType, SentencePieceModel, read_sentencepiece_model
from webxpu.text.checks import checked_text
from webxpu.text.hf_tokenizer import TURN_ENDS
from webxpu.text.sentencepiece_normalizer import Symbols
from webxpu.text.sentencepiece_rules import Decoder, ModelRules, Rules


class SentencePiece:
    """A SentencePiece model as a tokenizer; `TextStream` decodes with it too.

    What only training asks for, drawn and n-best ways to cut a text, is not here; nor are offsets into the text.

    vocab_size   ids are below it
    special_ids  ids of control pieces, which `decode` leaves out unless told otherwise
    unk_id       the unknown piece, or -1
    bos_id, pad_id   the piece that begins a text, the one that fills rows; or None
    eos_ids      every piece that ends a text or a turn, the file's own first
    add_bos, add_eos     whether `add_special` puts bos_id first, the first of eos_ids last. No model file says so:
                         Llama and Mistral want the first, T5 the second.
    prefix_every_span    whether a span after a control piece's name gets the model's word boundary, as a text does
    surfaces     what each id adds inside a text: a byte as a number

    rules        how texts become stretches that are cut, and ids text; None: as the model says
    """

    def __init__(
        self,
        model: SentencePieceModel,
        *,
        add_bos: bool = False,
        add_eos: bool = False,
        prefix_every_span: bool = False,
        rules: Rules | None = None,
    ) -> None:
        self.model = model
        self.pieces = [piece.text for piece in model.pieces]
        self._types = [piece.type for piece in model.pieces]
        # A name of a special piece hides a piece of the text that is spelled like it.
        named = [
            (p.type in (PieceType.CONTROL, PieceType.UNKNOWN, PieceType.BYTE), i) for i, p in enumerate(model.pieces)
        ]
        self._ids = {self.pieces[i]: i for _, i in sorted(named) if self.pieces[i] != "\0"}
        self._rules: Rules = ModelRules(model) if rules is None else rules
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
        self.surfaces = [self._surface(index) for index in range(self.vocab_size)]

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

    def encode(
        self, text: str, *, add_special: bool = False, parse_special: bool = True, reverse: bool = False
    ) -> list[int]:
        """Ids of a text.

        add_special    puts the pieces around it that were asked for when the tokenizer was made
        parse_special  a control piece's name in the text is that piece, and the spans between are texts of their own;
                       False is what sentencepiece does: it is text like any other
        reverse        the text's ids from the last to the first; what stands around them stays where it is
        Raises ShapeError for a lone surrogate.
        """
        ids: list[int] = []
        for is_name, span, first, last in self._spans(text, parse_special):
            if is_name:
                ids.append(self._ids[span])
            else:
                ids += [index for _, index in self._pieces_of(span, first, last)]
        if reverse:
            ids.reverse()
        before, after = self._around() if add_special else ((), ())
        return [*before, *ids, *after]

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
                ids += [n for _, n in self._pieces_of(checked_text(part), every or i == 0, every or i == final)]
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
        pieces: list[str] = []
        for is_name, span, first, last in self._spans(text, parse_special):
            pieces += [span] if is_name else [piece for piece, _ in self._pieces_of(span, first, last)]
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
        return self.model.unk_surface if kind == PieceType.UNKNOWN else self._rules.surface(piece)

    def _spans(self, text: str, parse_special: bool) -> Iterable[tuple[bool, str, bool, bool]]:
        """Names of special pieces and the texts between: whether it is a name, and its word boundaries' places."""
        checked_text(text)
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
        if not text:
            return out
        rules, unk_id, byte_ids = self._rules, self.unk_id, self.model.byte_ids
        normal = rules.normalize(text, first=first, last=last)
        for stretch in rules.stretches(normal, first=first, last=last):
            after_unknown = False
            for piece, index in rules.cut(stretch):
                unknown = index == unk_id
                if unknown and byte_ids:
                    out += [(self.pieces[byte_ids[byte]], byte_ids[byte]) for byte in piece.encode()]
                elif unknown and after_unknown:
                    out[-1] = (out[-1][0] + piece, index)
                else:
                    out.append((piece, index))
                after_unknown = unknown
        return out
