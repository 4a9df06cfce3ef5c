"""Added tokens are found as `tokenizers` 0.23 finds them, and stand in SentencePiece vocabularies as they do there."""

from __future__ import annotations

import random
import re
import unicodedata

import pytest
from tokenizers import AddedToken as RustToken
from tokenizers import Tokenizer, models, normalizers

from tests.text.sentencepiece_files import BPE, BYTES, HEAD, NORMAL, USER_DEFINED, model
from webxpu.errors import ShapeError
from webxpu.text.added_tokens import WHITE_SPACE, AddedToken, Names, Splitter, is_word
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.stream import TextStream

# Names that overlap, lie in each other, differ by case, begin or end with white space, a letter or a mark.
CONTENTS = [
    "<a>", "<a><b>", "<b>", "a>", "<A>", "ab", "abc", "bc", "b", " b", "b ", "\n", "\r\n", "\u00e9", "e\u0301",
    "\u0301", "\U0001f468\u200d\U0001f469", "\u200d", "<|im_end|>", "|im_end|", "1", "_", "\u2460", "\u24d0", "\u3000",
]  # fmt: skip
ALPHABET = [
    "a", "b", "c", "A", "B", "<", ">", " ", " ", "\t", "\n", "\r\n", "\u00e9", "e", "\u0301", "\U0001f468", "\u200d",
    "\U0001f469", "\u3042", "1", "_", ".", "\u3000", "\xa0", "\x1c", "\u24d0", "\u2460", "\u093f", "\u203f",
    *CONTENTS,
]  # fmt: skip
FLAGS = ("lstrip", "rstrip", "single_word", "normalized")


def characters(contents: list[str]) -> dict[str, int]:
    return {c: i for i, c in enumerate(sorted({c for text in contents for c in text + text.lower()}))}


VOCAB = characters([*ALPHABET, "\u2581"])


def normal(text: str, *, first: bool = False, last: bool = False) -> str:
    return text.replace(" ", "\u2581").replace("A", "a").replace("B", "b")


def theirs(tokens: list[AddedToken], normalized: bool) -> Tokenizer:
    made = Tokenizer(models.BPE(vocab=VOCAB, merges=[]))
    if normalized:
        steps = ((" ", "\u2581"), ("A", "a"), ("B", "b"))
        made.normalizer = normalizers.Sequence([normalizers.Replace(old, new) for old, new in steps])
    for token in tokens:
        made.add_tokens([RustToken(token.content, special=token.special, **{f: getattr(token, f) for f in FLAGS})])
    return made


def ours(tokens: list[AddedToken], normalized: bool, text: str) -> list[int]:
    """Ids with one for each character, as a vocabulary without merges has them."""

    def same(text: str, *, first: bool = False, last: bool = False) -> str:
        return text

    names = Names(tokens, normal if normalized else same)
    ids: list[int] = []
    for token, span in names.raw.split(text):
        parts = [(token, span)] if token else names.normal.split(normal(span) if normalized else span)
        for found, part in parts:
            ids += [found.id] if found else [VOCAB[c] for c in part]
    return ids


def drawn(rng: random.Random) -> list[AddedToken]:
    contents = rng.sample(CONTENTS, rng.randrange(1, 6))
    tokens = []
    for content in contents:
        flags = {flag: rng.random() < 0.3 for flag in FLAGS}
        # A name of one character is that character's id already, and equal normalised names have no order.
        if content in VOCAB or any(normal(content) == normal(t.content) for t in tokens):
            continue
        tokens.append(AddedToken(len(VOCAB) + len(tokens), content, special=rng.random() < 0.5, **flags))
    return tokens


@pytest.mark.parametrize("normalized", [False, True])
def test_texts_are_split_as_tokenizers_splits_them(normalized: bool) -> None:
    rng = random.Random(5)
    for case in range(400):
        tokens = drawn(rng)
        reference = theirs(tokens, normalized)
        for _ in range(10):
            text = "".join(rng.choice(ALPHABET) for _ in range(rng.randrange(14)))
            expected = reference.encode(text, add_special_tokens=False).ids
            assert ours(tokens, normalized, text) == expected, (case, tokens, text)


def test_what_a_word_and_what_white_space_is_is_unicodes() -> None:
    """One character of each category, and those around which Python and Unicode's properties differ."""
    rng = random.Random(7)
    by_kind: dict[str, list[str]] = {}
    for c in map(chr, range(0x20000)):
        by_kind.setdefault(unicodedata.category(c), []).append(c)
    del by_kind["Cs"], by_kind["Cn"]
    some = [c for kind in by_kind.values() for c in rng.sample(kind, min(20, len(kind)))]
    for c in [*some, *WHITE_SPACE, *"\x1c\x1f_\u200b\u200c\u200d\u24b6\u24e9\u2460\U0001f130\U0001f18a\ufeff"]:
        single = theirs([AddedToken(len(VOCAB), "<x>", single_word=True)], False)
        assert is_word(c) == (len(VOCAB) not in single.encode(f"{c}<x>").ids), ascii(c)
        strips = theirs([AddedToken(len(VOCAB), "<x>", rstrip=True)], False).encode(f"<x>{c}").offsets
        assert (c in WHITE_SPACE) == (strips[0][1] == 4), ascii(c)


def test_the_longest_of_all_comes_first_where_llama_cpp_decides() -> None:
    tokens = [AddedToken(i, content) for i, content in enumerate(["<a", "a<bb>", "b", "<a>"])]
    assert [s for _, s in Splitter(tokens).split("<a<bb>b")] == ["<a", "<", "b", "b", ">", "b"]
    assert [s for _, s in Splitter(tokens, longest_first=True).split("<a<bb>b")] == ["<", "a<bb>", "b"]
    both = [AddedToken(0, "<x>", lstrip=True, rstrip=True), AddedToken(1, "\n\n")]
    parts = Splitter(both, longest_first=True).split("a \t<x>\n\n\n\u3000b")
    assert [(t and t.id, s) for t, s in parts] == [
        (None, "a"), (0, " \t<x>\n\n\n"), (None, "\u3000b"),
    ]  # fmt: skip
    assert Splitter([], longest_first=True).split("ab") == [(None, "ab")]


def test_white_space_that_a_token_before_took_is_not_taken_again() -> None:
    parts = Splitter([AddedToken(0, "<>", rstrip=True), AddedToken(1, "\n ", lstrip=True)]).split("<> \n  a")
    assert [s for _, s in parts] == ["<> \n  ", "a"]


LETTERS = [(c, -1.0 - i, NORMAL) for i, c in enumerate("\u2581 ab<>/st|ime_nd")]
PIECES = [*HEAD, *BYTES, *LETTERS, ("\u2581a", -0.5, NORMAL), ("\u2581\u2581", 0.0, USER_DEFINED)]
DATA = model(PIECES, {3: BPE, 35: 1})
SIZE = len(PIECES)
ADDED = [
    AddedToken(SIZE + 2, "<t>"),
    AddedToken(SIZE, "<b>", special=True, lstrip=True, rstrip=True),
    AddedToken(SIZE + 1, "<|im_end|>"),
    AddedToken(2, "</s>", special=True, rstrip=True),
]


def pieces(**options: object) -> SentencePiece:
    return SentencePiece.from_bytes(DATA, added=ADDED, **options)  # type: ignore[arg-type]


def test_ids_past_the_pieces_are_of_the_vocabulary() -> None:
    found = pieces()
    assert found.vocab_size == SIZE + 3
    assert found.special_ids == {1, 2, SIZE, SIZE + 1}
    assert found.special_names == {"<unk>": 0, "<s>": 1, "</s>": 2, "<b>": SIZE, "<|im_end|>": SIZE + 1}
    assert found.eos_ids == (2, SIZE + 1)  # a mark of turns, whatever the file calls it
    assert [found.id_to_piece(i) for i in (SIZE, SIZE + 2)] == ["<b>", "<t>"]
    assert found.piece_to_id("<t>") == SIZE + 2
    assert (found.token_bytes(SIZE + 2), found.token_bytes(2)) == (b"<t>", b"</s>")
    assert (found.id_to_token(SIZE + 2), found.id_to_token(SIZE)) == ("<t>", None)
    assert found.surfaces[SIZE + 2] == "<t>"


def test_special_ones_are_found_when_asked_for_and_others_always() -> None:
    found, plain = pieces(), SentencePiece.from_bytes(DATA)
    word, inside = plain.encode("a"), plain.encode("a")[0]
    assert found.encode("a <b>  <t>a") == [*word, SIZE, SIZE + 2, found.piece_to_id("a")]
    spelled = plain.encode("a <b>", parse_special=False)
    assert found.encode("a <b><t>", parse_special=False) == [*spelled, SIZE + 2]
    assert found.encode("<t>", parse_special=False) == found.encode("<t>") == [SIZE + 2]
    assert found.encode("a</s> a") == [inside, 2, found.piece_to_id("a")]
    assert pieces(prefix_every_span=True).encode("a</s> a<t>a") == [inside, 2, inside, SIZE + 2, inside]
    assert found.encode_pieces("a<t>b", parse_special=True) == ["\u2581a", "<t>", "b"]
    assert found.encode_pieces("<t> <t>") == ["<t>", "<t>"]  # as of a text, white space at a span's ends goes


def test_parts_are_encoded_as_one_text_with_its_marks_between() -> None:
    found = pieces()
    [inside] = found.encode("a")
    assert found.encode_parts(["a", 2, "  a", SIZE, "a "]) == found.encode("a</s>  a<b>a ")
    assert found.encode_parts(["a  ", SIZE, " ", 2, "\n"]) == found.encode("a  <b> </s>\n") == [inside, SIZE, 2]
    inside = found.encode_parts(["<b>", 2, "<|im_end|><t>"])
    assert [i for i in inside if i in found.special_ids or i >= SIZE] == [2, SIZE + 2]
    assert found.decode(inside, skip_special=False).replace(" ", "") == "<b></s><|im_end|><t>"


def test_added_tokens_decode_to_their_names() -> None:
    found = pieces()
    inside = found.piece_to_id("\u2581a")
    ids = [inside, SIZE + 2, inside, SIZE, 2, 0, SIZE + 2]
    assert found.decode(ids) == "a<t> a \u2047 <t>"
    assert found.decode(ids, skip_special=False) == "a<t> a<b></s><unk><t>"
    assert found.decode([SIZE, inside]) == "a"
    half = found.model.byte_ids[0xE2]
    assert found.decode([half, SIZE + 2]) == "\ufffd<t>"
    for skip_special in (True, False):
        stream = TextStream(found, skip_special=skip_special)
        assert "".join(stream.push([i]) for i in ids) + stream.finish() == found.decode(ids, skip_special=skip_special)
    spaced = SentencePiece.from_bytes(DATA, added=[AddedToken(SIZE, "\u2581 x")])
    assert spaced.decode([SIZE, SIZE]) == "\u2581 x\u2581 x"


def test_a_control_piece_that_is_added_as_no_special_one_is_text_of_the_reply() -> None:
    found = SentencePiece.from_bytes(DATA, added=[AddedToken(1, "<s>")])
    assert found.special_ids == {2}
    assert found.encode("<s>a", parse_special=False)[0] == 1
    assert found.decode([1, 2]) == "<s>"


def test_a_piece_may_be_renamed_and_no_text_is_cut_to_it_any_more() -> None:
    b = SentencePiece.from_bytes(DATA).piece_to_id("b")
    found = SentencePiece.from_bytes(DATA, added=[AddedToken(b, "<new>")])
    assert (found.id_to_piece(b), found.piece_to_id("<new>"), found.piece_to_id("b")) == ("<new>", b, found.unk_id)
    assert b not in found.encode("b")
    assert found.encode("<new>") == [b]
    assert (found.decode([b]), found.model.pieces[b].text) == ("<new>", "b")


def test_normalised_names_are_found_in_the_normalised_text() -> None:
    plain = model([*HEAD, *BYTES, *LETTERS], {3: BPE, 35: 1}, {3: 0, 4: 0})
    both = [AddedToken(600, "a b", normalized=True), AddedToken(601, "b a")]
    found = SentencePiece.from_bytes(plain, added=both)
    assert found.encode("a\u2581b") == [600]
    assert found.encode("a b") == [600]
    assert found.encode("b\u2581a")[0] != 601
    assert found.encode("ba b<s>b")[1:] == [600, 1, found.piece_to_id("b")]


def test_ids_between_added_ones_are_none() -> None:
    found = SentencePiece.from_bytes(DATA, added=[AddedToken(SIZE + 3, "<t>")])
    assert found.vocab_size == SIZE + 4
    assert found.id_to_token(SIZE) is None
    for call in (found.id_to_piece, found.token_bytes, lambda i: found.decode([i])):
        with pytest.raises(ShapeError, match=f"id must be one of {SIZE + 4} pieces, got {SIZE + 1}$"):
            call(SIZE + 1)


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ([AddedToken(SIZE, "")], f"the token of id {SIZE} must have a content, got none"),
        ([AddedToken(-1, "x")], "the id of 'x' must be below 4194304, got -1"),
        ([AddedToken(1 << 22, "x")], "the id of 'x' must be below 4194304, got 4194304"),
        ([AddedToken(SIZE, "<s>")], f"'<s>' must have one id, got 1 and {SIZE}"),
        ([AddedToken(SIZE, "x"), AddedToken(SIZE + 1, "x")], f"'x' must have one id, got {SIZE} and {SIZE + 1}"),
        ([AddedToken(SIZE, "x"), AddedToken(SIZE, "y")], f"id {SIZE} must have one token, got AddedToken(id="),
        ([AddedToken(0, "x")], "id 0 must stay '<unk>', got 'x'"),
        ([AddedToken(3, "x")], "id 3 must stay '<0x00>', got 'x'"),
    ],
)
def test_added_tokens_that_clash_are_refused(added: list[AddedToken], message: str) -> None:
    with pytest.raises(ShapeError, match=f"^added tokens: {re.escape(message)}"):
        SentencePiece.from_bytes(DATA, added=added)


def test_many_names_of_a_long_text_are_found() -> None:
    """As of Gemma's vocabulary: runs of white space, and thousands of names."""
    tokens = [AddedToken(i, "\n" * (i + 1)) for i in range(30)] + [AddedToken(100 + i, f"<n{i}>") for i in range(6000)]
    parts = Splitter(tokens).split("word <n5999>\n\n\n" * 1000)
    assert len(parts) == 3000
    assert [s for _, s in parts[:3]] == ["word ", "<n5999>", "\n\n\n"]
