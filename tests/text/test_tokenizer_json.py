"""Tokenizers out of a tokenizer.json, against `tokenizers`."""

from __future__ import annotations

import json
import re

import pytest
import tokenizers

from tests.text.vocabularies import made
from webxpu.errors import FormatError, Unsupported
from webxpu.text.gguf_tokenizer import tokenizer_json
from webxpu.text.hf_tokenizer import Tokenizer
from webxpu.text.pieces import piece_decoder
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.tokenizer_json import added_around
from webxpu.text.tokenizers import tokenizer_from_json

ADDED_AS_IT_IS = {"single_word": False, "lstrip": False, "rstrip": False}


def bytes_and_pieces() -> dict:
    """A BPE vocabulary with byte fallback, as Llama 2 and Gemma have it."""
    pieces = [
        "<unk>",
        "<s>",
        "</s>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        "▁",
        "a",
        "b",
        "▁a",
        "ab",
        "▁▁",
        "<x>",
    ]
    steps = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ]
    added = [(0, "<unk>", True), (1, "<s>", True), (2, "</s>", True), (265, "<x>", False)]
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": i, "content": content, "special": special, "normalized": False, **ADDED_AS_IT_IS}
            for i, content, special in added
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        "decoder": {"type": "Sequence", "decoders": steps},
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": {piece: index for index, piece in enumerate(pieces)},
            "merges": [["▁", "a"], ["a", "b"], ["▁", "▁"]],
        },
    }  # fmt: skip


CONFIG = {"bos_token": {"content": "<s>", "lstrip": False}, "eos_token": "</s>"}


def test_a_tokenizer_json_with_byte_fallback_decodes_as_tokenizers_does():
    described = bytes_and_pieces()
    ours = Tokenizer.from_json(json.dumps(described), json.dumps(CONFIG))
    theirs = tokenizers.Tokenizer.from_str(json.dumps(described))
    assert (ours.bos_id, ours.eos_ids, ours.add_bos, ours.special_ids) == (1, (2,), True, frozenset((0, 1, 2)))
    for text in ("a", "ab  é 😀 b", " a", "   ", "", "a<x>b</s>", "\n"):
        ids = theirs.encode(text).ids
        assert ours.encode(text, add_special=True) == ids
        for skip in (True, False):
            assert ours.decode(ids, skip_special=skip) == theirs.decode(ids, skip_special_tokens=skip)
    assert ours.encode("a</s>", parse_special=False) != ours.encode("a</s>")
    assert [ours.token_bytes(i) for i in (3, 258, 259, 262, 265)] == [b"\0", b"\xff", b" ", b" a", b"<x>"]


@pytest.mark.parametrize(
    ("decoder", "piece", "expected", "strip_left"),
    [
        ({"type": "ByteLevel", "add_prefix_space": True}, "Ġa", b" a", 0),
        ({"type": "Sequence", "decoders": [{"type": "ByteLevel"}]}, "Ã©", b"\xc3\xa9", 0),
        ({"type": "ByteLevel"}, "東", "東".encode(), 0),
        ({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}, "▁a▁", b" a ", 1),
        ({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}, "<0x41>", b"<0x41>", 1),
        ({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"}, "▁", b" ", 0),
        ({"type": "Metaspace", "replacement": "▁", "add_prefix_space": False}, "▁", b" ", 0),
        ({"type": "Metaspace", "replacement": "_", "add_prefix_space": True}, "_a", b" a", 1),
        ({"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}, "<0xE6>", b"\xe6", 0),
        ({"type": "Sequence", "decoders": [{"type": "ByteFallback"}]}, "<0xZZ>", b"<0xZZ>", 0),
    ],
)
def test_decoders_work_piece_by_piece(decoder, piece, expected, strip_left):
    piece_bytes, stripped = piece_decoder(decoder)
    assert (piece_bytes(piece), stripped) == (expected, strip_left)


def test_a_unigram_vocabulary_is_a_list_and_makes_another_tokenizer():
    vocab = [["<unk>", 0.0], ["▁", -1.0], ["▁a", -2.0], ["b", -3.0]]
    decoder = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    described = {"version": "1.0", "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab}, "decoder": decoder}
    with pytest.raises(Unsupported, match=r"^tokenizer: a Unigram model is for `tokenizer_from_json`"):
        Tokenizer.from_json(described)
    tokenizer = tokenizer_from_json({**described, "pre_tokenizer": decoder})
    assert isinstance(tokenizer, SentencePiece)
    assert tokenizer.vocab_size == 4
    assert tokenizer.encode("a b") == [2, 1, 3]
    assert tokenizer.decode([2, 1, 3]) == "a b"
    assert isinstance(tokenizer_from_json(bytes_and_pieces()), Tokenizer)


def test_a_panic_of_the_library_is_a_format_error():
    described = tokenizer_json(made([], ["h e", "l l"]))
    described["model"]["continuing_subword_prefix"] = "longer than a piece"
    with pytest.raises(FormatError, match=r"^tokenizer: must be one that `tokenizers` can read, got range end index"):
        Tokenizer.from_json(described)


def test_a_vocabulary_that_does_not_say_its_type_has_no_plain_form():
    described = bytes_and_pieces()
    del described["model"]["type"]
    with pytest.raises(Unsupported, match=r"^tokenizer: names of control tokens can be plain text only in a BPE"):
        Tokenizer.from_json(described).encode("a", parse_special=False)


def test_a_bos_is_added_where_the_post_processor_says_so():
    described = bytes_and_pieces()
    described["post_processor"] = {
        "type": "Sequence",
        "processors": [tokenizer_json(made())["decoder"], described["post_processor"]],
    }
    assert Tokenizer.from_json(described, CONFIG).add_bos
    assert not Tokenizer.from_json(described, {"bos_token": "</s>"}).add_bos
    assert not Tokenizer.from_json({**described, "post_processor": None}, CONFIG).add_bos
    assert Tokenizer.from_json(described).bos_id is None


def test_added_tokens_may_lie_outside_the_model_s_vocabulary():
    described = tokenizer_json(made())
    described["added_tokens"] = [
        {"id": 256, "content": "<|end|>", "special": True, "normalized": False, **ADDED_AS_IT_IS}
    ]
    tokenizer = Tokenizer.from_json(described)
    assert (tokenizer.vocab_size, tokenizer.eos_ids, tokenizer.encode("a<|end|>")) == (257, (256,), [97, 256])
    assert tokenizer.decode([97, 256], skip_special=False) == "a<|end|>"
    assert Tokenizer.from_json(described, {"eos_token": "!"}).eos_ids == (33, 256)  # the file's own first


HUGE_ID = [{"id": 4_000_000_000, "content": "x", "special": True, "normalized": False, **ADDED_AS_IT_IS}]


@pytest.mark.parametrize(
    ("described", "error", "message"),
    [
        ("{", FormatError, "tokenizer.json: must be JSON, got Expecting property name"),
        ("[]", FormatError, "tokenizer.json: must be an object, got list"),
        ("{}", FormatError, "tokenizer.json: must have a model with a vocabulary"),
        ({"model": {"type": "BPE", "vocab": {}}}, FormatError, "tokenizer.json: must have a model with a vocabulary"),
        ({"decoder": None}, Unsupported, "tokenizer: a tokenizer without a decoder is not supported"),
        (
            {"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True}},
            Unsupported,
            "tokenizer: the decoder WordPiece is not supported",
        ),
        (
            {"decoder": {"type": "Strip", "content": " ", "start": 0, "stop": 1}},
            Unsupported,
            "tokenizer: the decoder Strip is not supported",
        ),
        (
            {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "added_tokens": HUGE_ID},
            FormatError,
            "tokenizer: ids must be whole numbers below 4194304",
        ),
        ({"normalizer": {"type": "Nonsense"}}, FormatError, "tokenizer: must be one that `tokenizers` can read, got "),
    ],
)
def test_a_tokenizer_json_that_makes_no_tokenizer_is_refused(described, error, message):
    whole = described
    if isinstance(described, dict) and "model" not in described:
        whole = {**tokenizer_json(made()), **described}
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        Tokenizer.from_json(whole)


ADDED = {"id": 5, "content": "<x>", "special": True}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": []}, "must have a model with a vocabulary"),
        ({"model": {"vocab": 7}}, "model.vocab must be ids by piece, or a list of pieces with scores, got '7'"),
        ({"model": {"vocab": [["a", 0.0], "b"]}}, "model.vocab must be ids by piece, or a list of pieces with scores"),
        ({"added_tokens": {"<x>": 5}}, "added_tokens must be a list, got"),
        ({"added_tokens": [ADDED, 5]}, "an added token must be an object with id, content and special, got '5'"),
        ({"added_tokens": [{**ADDED, "id": True}]}, "an added token must be an object with id, content and special"),
        ({"added_tokens": [{**ADDED, "content": None}]}, "an added token must be an object"),
        ({"added_tokens": [{"id": 5, "content": "<x>"}]}, "an added token must be an object"),
        (
            {"decoder": "Fuse"},
            "decoder must be an object with a type, or a Sequence with a list of decoders, got 'Fuse'",
        ),
        ({"decoder": {"type": "Sequence"}}, "decoder must be an object with a type, or a Sequence"),
        ({"decoder": {"type": "Sequence", "decoders": [{"type": 1}]}}, "decoder must be an object with a type"),
        ({"post_processor": {"type": "Sequence", "processors": {}}}, "post_processor must be an object with a type"),
        ({"post_processor": {"single": []}}, "post_processor must be an object with a type"),
    ],
)
def test_what_python_reads_is_checked_before_a_library_does(changes: dict, message: str) -> None:
    """In a browser no library does."""
    with pytest.raises(FormatError, match=f"^tokenizer.json: {re.escape(message)}"):
        Tokenizer.from_json({**bytes_and_pieces(), **changes})


@pytest.mark.parametrize(
    ("decoder", "message"),
    [
        ({"type": "Replace", "pattern": "a"}, "pattern of the step Replace must be a dict, got 'a'"),
        ({"type": "Replace", "pattern": {"String": "a"}}, "content of the step Replace must be a str, got 'None'"),
        ({"type": "Metaspace", "replacement": 1}, "replacement of the step Metaspace must be a str, got '1'"),
        ({"type": "Strip", "content": " ", "start": "1", "stop": 0}, "start of the step Strip must be a int, got '1'"),
    ],
)
def test_a_broken_step_of_a_decoder_is_named(decoder: dict, message: str) -> None:
    with pytest.raises(FormatError, match=f"^tokenizer.json: {re.escape(message)}$"):
        piece_decoder(decoder)


def test_a_post_processor_that_puts_no_token_first_adds_none() -> None:
    for single in ([], [1], [{"Sequence": {"id": "A"}}], [{"SpecialToken": 5}]):
        assert added_around({"post_processor": {"type": "TemplateProcessing", "single": single}})[0] is None
    with pytest.raises(FormatError, match=r"single of the step TemplateProcessing must be a list, got 'None'$"):
        added_around({"post_processor": {"type": "TemplateProcessing"}})
