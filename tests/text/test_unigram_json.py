"""tokenizer.json files with a Unigram model, against `tokenizers`."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import tokenizers
from tokenizers import models as rust_models
from tokenizers import normalizers as rust_normalizers
from tokenizers import pre_tokenizers as rust_pre_tokenizers
from tokenizers import trainers

from tests.text import unigram_files as files
from tests.text.real_files import real_file
from tests.text.unigram_files import added, described, metaspace, replace, sequence, template
from webxpu.errors import FormatError, ShapeError, Unsupported
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.stream import TextStream
from webxpu.text.tokenizers import AnyTokenizer, tokenizer_from_json
from webxpu.text.unigram_json import unigram_tokenizer

RANDOM_FILES, SEED = 60, 20260
TRAINED_TEXT = ["the cat sat on the mat", "a cat and a dog", "東京に行く 東京と京都", "é è ê, naïve café", "1234 56 7"]


class Panic(Exception):
    """The library does not survive a text: its Precompiled miscounts some that become shorter."""


@contextmanager
def panics() -> Iterator[None]:
    try:
        yield
    except BaseException as e:
        if type(e).__name__ == "PanicException":
            raise Panic from e
        raise


class Oracle:
    """The library's tokenizer."""

    @panics()
    def __init__(self, file: dict[str, Any]) -> None:
        self.rust = tokenizers.Tokenizer.from_str(json.dumps(file))
        self.rust.no_truncation()
        self.rust.no_padding()

    @panics()
    def encode(self, text: str, *, add_special: bool) -> list[int]:
        return self.rust.encode(text, add_special_tokens=add_special).ids


def compared(file: dict[str, Any], texts: list[str], rng: random.Random, rows: int) -> None:
    """The same ids for each text, the same text for as many rows of ids, in one go and in any steps."""
    made, oracle = tokenizer_from_json(file), Oracle(file)
    for text in texts:
        with suppress(Panic):
            for add_special in (False, True):
                expected = oracle.encode(text, add_special=add_special)
                assert made.encode(text, add_special=add_special) == expected, text
    size = oracle.rust.get_vocab_size()
    broken = [made.piece_to_id(f"<0x{byte:02X}>") for byte in (0xE3, 0x81, 0x41, 0xFF, 0x82)]
    for _ in range(rows):
        ids = rng.choices(range(min(size, made.vocab_size)), k=rng.randrange(12))
        if rng.random() < 0.5:
            ids = [i for index in ids for i in (index, rng.choice(broken))]
        steps_match(made, ids, oracle.rust, rng)


def steps_match(made: AnyTokenizer, ids: list[int], rust: tokenizers.Tokenizer, rng: random.Random) -> None:
    for skip in (False, True):
        expected = rust.decode(ids, skip_special_tokens=skip)
        assert made.decode(ids, skip_special=skip) == expected, ids
        stream, shown, rest = TextStream(made, skip_special=skip), "", ids
        while rest:
            length = rng.randrange(3)
            shown += stream.push(rest[:length])
            rest = rest[length:]
        assert shown + stream.finish() == expected, ids


@pytest.mark.parametrize("number", range(RANDOM_FILES))
def test_random_files_give_the_ids_and_texts_of_tokenizers(number: int) -> None:
    rng = random.Random(f"{SEED} {number}")
    print(f"seed {SEED} {number}")
    with suppress(Panic):
        compared(files.drawn(rng), [files.text(rng) for _ in range(40)], rng, 20)


def test_mon_s_file_gives_the_ids_and_texts_of_tokenizers() -> None:
    rng = random.Random(SEED)
    texts = [*(files.text(rng) for _ in range(150)), "မန် ဘာသာ\u200b ၁၂၃", "\u00a0\u3000x", "<s>a</s> <pad>"]
    compared(json.loads(real_file("mon").read_text("utf-8")), texts, rng, 60)


@pytest.mark.parametrize("name", ["T5", "XLM-R", "ALBERT"])
def test_files_in_the_form_of_real_models_with_real_rules(name: str) -> None:
    model = next(m for m in files.models().values() if [p.text for p in m.pieces[:3]] == ["<unk>", "<s>", "</s>"])
    rng = random.Random(f"{SEED} {name}")
    file = files.whole([[p.text, p.score] for p in model.pieces], model.normalizer.charsmap)[name]
    compared(file, [files.text(rng) for _ in range(250)], rng, 60)


def test_a_vocabulary_of_the_library_s_trainer() -> None:
    rust = tokenizers.Tokenizer(rust_models.Unigram())
    rust.normalizer = rust_normalizers.NFKC()
    rust.pre_tokenizer = rust_pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=90, unk_token="<unk>", special_tokens=["<unk>", "<s>", "</s>"], show_progress=False
    )
    rust.train_from_iterator(TRAINED_TEXT * 5, trainer)
    rng = random.Random(SEED)
    compared(json.loads(rust.to_str()), [*TRAINED_TEXT, *(files.text(rng) for _ in range(150))], rng, 60)


PIECES = [["<unk>", 0.0], ["<s>", 0.0], ["</s>", 0.0], *([c, -2.0] for c in "▁abAB<s>/ "), ["ab", -2.5]]
NAMES = [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")]


def test_scores_are_summed_in_float64() -> None:
    """In float32 the two sums are one, and the first found path wins."""
    pieces = [["<unk>", 0.0], ["a", -1.0], ["aa", -(2.0 - 1e-9)], ["b", -1e-9]]
    file = described(pieces)
    assert Oracle(file).encode("aa", add_special=False) == [2]
    assert tokenizer_from_json(file).encode("aa") == [2]
    file["model"]["vocab"][2][1] = -(2.0 + 1e-9)
    assert Oracle(file).encode("aa", add_special=False) == [1, 1]
    assert tokenizer_from_json(file).encode("aa") == [1, 1]


@pytest.mark.parametrize("normalizer", [None, {"type": "NFKC"}, {"type": "Lowercase"}])
@pytest.mark.parametrize("text", ["a<s>b", "<s>", "a＜s＞b", "</s></S>", "<s", "a<unk>é<unk>"])
def test_names_are_text_where_that_is_asked_for(normalizer: dict[str, Any] | None, text: str) -> None:
    """As in `tokenizers` where no piece has the name of a special token: it lets the trie find it, which would make a
    name the token after all."""
    file = described(PIECES, added_tokens=NAMES, normalizer=normalizer)
    made = tokenizer_from_json(file)
    assert made.encode(text) == Oracle(file).encode(text, add_special=False)
    plain = copy.deepcopy(file)
    for i in range(3):
        plain["model"]["vocab"][i][0] = f"\ufdd0{i}"
    plain["added_tokens"] = []
    ids = made.encode(text, parse_special=False)
    assert ids == Oracle(plain).encode(text, add_special=False)
    assert set(ids).isdisjoint((1, 2))
    assert made.encode_parts([text]) == ids


def test_unknown_characters_that_spell_a_special_name_do_not_become_it() -> None:
    """Characters without pieces are one unknown text, which the library looks up by its name."""
    file = described([["<unk>", 0.0], ["<s>", 0.0], ["a", -1.0]], added_tokens=[added(1, "<s>")])
    assert tokenizer_from_json(file).encode("a<s>", parse_special=False) == [2, 0]


def test_what_the_file_says_about_its_tokens() -> None:
    ends = [("</s>", 2)]
    file = described(PIECES, added_tokens=NAMES, post_processor=template([("<s>", 1)], ends))
    made = tokenizer_from_json(json.dumps(file), '{"bos_token": "<s>", "eos_token": {"content": "</s>"}}')
    assert isinstance(made, SentencePiece)
    assert (made.unk_id, made.bos_id, made.eos_ids, made.pad_id) == (0, 1, (2,), None)
    assert (made.add_bos, made.add_eos, made.vocab_size) == (True, True, len(PIECES))
    assert made.special_names == {"<unk>": 0, "<s>": 1, "</s>": 2}
    assert made.encode("a", add_special=True) == [1, 4, 2]
    assert [tokenizer_from_json(file).bos_id, tokenizer_from_json(file).add_eos] == [None, False]
    assert tokenizer_from_json({**file, "post_processor": None}).encode("a", add_special=True) == [4]
    assert unigram_tokenizer({**file, "model": {"vocab": PIECES, "unk_id": 0}}, {}).encode("a") == [4]


def test_several_tokens_and_older_post_processors_stand_around_a_text() -> None:
    old = {"type": "RobertaProcessing", "cls": ["<s>", 1], "sep": ["</s>", 2], "trim_offsets": True}
    old["add_prefix_space"] = False
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    steps = [old, {"type": "BertProcessing", "cls": ["<s>", 1], "sep": ["</s>", 2]}]
    steps += [template([("<s>", 1), ("</s>", 2)], [("<s>", 1)]), sequence("processors", byte_level, steps[0])]
    for step in steps:
        file = described(PIECES, added_tokens=NAMES, post_processor=step)
        assert tokenizer_from_json(file).encode("ab", add_special=True) == Oracle(file).encode("ab", add_special=True)


def test_truncation_and_padding_are_the_callers() -> None:
    length = {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0}
    assert tokenizer_from_json(described(PIECES, truncation=length)).encode("a a") == [4, 12, 4]


def test_text_that_a_vocabulary_without_an_unknown_piece_lacks_is_an_error() -> None:
    made = tokenizer_from_json(described([["a", -1.0]], unk_id=None))
    assert (made.encode("aa"), made.unk_id) == ([0, 0], -1)
    with pytest.raises(ShapeError, match=r"^encode: text must be made of the vocabulary's pieces, .* got 'bé'$"):
        made.encode("abéa")


def test_a_byte_piece_alone_is_its_byte_and_a_word_its_text() -> None:
    steps = sequence("decoders", {"type": "ByteFallback"}, {"type": "Fuse"}, replace(" ", String="▁"))
    made = tokenizer_from_json(described([*PIECES, ["<0xE3>", 0.0], ["▁a", 0.0]], decoder=steps))
    assert [made.token_bytes(i) for i in (len(PIECES), len(PIECES) + 1)] == [b"\xe3", b" a"]


def test_a_stream_holds_back_a_run_of_bytes_that_may_yet_be_broken() -> None:
    file = described([*PIECES, ["<0xE3>", 0.0], ["<0x41>", 0.0]], decoder={"type": "ByteFallback"})
    first, letter = len(PIECES), len(PIECES) + 1
    stream = TextStream(tokenizer_from_json(file))
    assert [stream.push([i]) for i in (letter, first, 4)] == ["", "", "\ufffd\ufffda"]
    assert (stream.push([letter]), stream.finish(), stream.push([4])) == ("", "A", "a")


BAD_BASE64 = {"type": "Precompiled", "precompiled_charsmap": "?"}
HALF = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}
TWICE = template([("<s>", 1)], [])


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"normalizer": {"type": "BertNormalizer"}}, Unsupported, "tokenizer: the normalizer BertNormalizer is not"),
        ({"normalizer": {"type": "Strip", "strip_left": 1}}, FormatError, "tokenizer.json: strip_left of the step"),
        ({"normalizer": {"type": "Sequence"}}, FormatError, "tokenizer.json: normalizer must be an object with a type"),
        ({"normalizer": BAD_BASE64}, FormatError, "tokenizer.json: precompiled_charsmap must be base64, got"),
        ({"normalizer": HALF}, FormatError, "tokenizer.json: precompiled_charsmap: the charsmap's trie at byte 0"),
        ({"normalizer": replace("", Regex="(?i:a)")}, Unsupported, "tokenizer: the group '(?i:' in the pattern"),
        ({"normalizer": replace("", Nothing="a")}, FormatError, "tokenizer.json: pattern of the step Replace must be"),
        ({"pre_tokenizer": {"type": "ByteLevel"}}, Unsupported, "tokenizer: the pre-tokenizer ByteLevel is not"),
        ({"pre_tokenizer": metaspace("last")}, FormatError, "tokenizer.json: prepend_scheme of the step Metaspace"),
        (
            {"pre_tokenizer": {**metaspace(), "replacement": "ab"}},
            FormatError,
            "tokenizer.json: replacement of the step Metaspace must be one character, got 'ab'",
        ),
        (
            {"pre_tokenizer": {**metaspace(), "add_prefix_space": False}},
            FormatError,
            "tokenizer.json: prepend_scheme of the step Metaspace without add_prefix_space must be never, got 'always'",
        ),
        (
            {"pre_tokenizer": {"type": "Punctuation", "behavior": "Gone"}},
            FormatError,
            "tokenizer.json: behavior of the step Punctuation must be one of Removed,",
        ),
        ({"decoder": {"type": "WordPiece"}}, Unsupported, "tokenizer: the decoder WordPiece is not supported"),
        (
            {"decoder": {"type": "Strip", "content": " ", "start": -1, "stop": 0}},
            FormatError,
            "tokenizer.json: start and stop of the step Strip must be 0 or more",
        ),
        ({"post_processor": {"type": "Other"}}, Unsupported, "tokenizer: the post-processor Other is not supported"),
        (
            {"post_processor": sequence("processors", TWICE, TWICE)},
            Unsupported,
            "tokenizer: two post-processors that put tokens around a text are not supported",
        ),
        (
            {"post_processor": {**TWICE, "single": []}},
            Unsupported,
            "tokenizer: a TemplateProcessing must have the text once to be supported, got 0 times",
        ),
        ({"post_processor": {**TWICE, "special_tokens": {}}}, FormatError, "tokenizer.json: a part of the step Templ"),
        ({"post_processor": template([("<s>", 99)], [])}, FormatError, "tokenizer.json: an id of post_processor must"),
        ({"post_processor": {"type": "BertProcessing"}}, FormatError, "tokenizer.json: cls of the step BertProcessing"),
        (
            {"added_tokens": [added(99, "<y>")]},
            FormatError,
            f"tokenizer.json: the id of the added token '<y>' must be {len(PIECES)}, got '99'",
        ),
        ({"added_tokens": [added(1, "<s>", lstrip=1)]}, FormatError, "tokenizer.json: lstrip of the added token '<s>'"),
        ({"byte_fallback": 1}, FormatError, "tokenizer.json: model.byte_fallback must be true or false, got '1'"),
        ({"unk_id": 99}, FormatError, f"tokenizer.json: model.unk_id must be one of {len(PIECES)} pieces, got '99'"),
    ],
)
def test_a_file_that_is_broken_or_has_an_unknown_step_is_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        tokenizer_from_json(described(copy.deepcopy(PIECES), **changes))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (["c", float("nan")], "the score of model.vocab[1] must be a finite number, got 'nan'"),
        (["c", True], "the score of model.vocab[1] must be a finite number, got 'True'"),
        (["c", "1"], "the score of model.vocab[1] must be a finite number, got '1'"),
        (["\ud800", 0.0], r"model.vocab[1] must have no lone surrogates, got '\ud800'"),
    ],
)
def test_a_broken_entry_of_the_vocabulary_is_refused(entry: list[Any], message: str) -> None:
    with pytest.raises(FormatError, match=f"^tokenizer.json: {re.escape(message)}"):
        tokenizer_from_json(described([["<unk>", 0.0], entry]))


@pytest.mark.parametrize("text", ["ed", "eed", "xed", "e", " ed", "<s>ed"])
@pytest.mark.parametrize("content", ["aBa", "", "B"])
def test_the_first_word_s_sign_stands_before_all_that_the_first_character_became(content: str, text: str) -> None:
    isolated = {"type": "Split", "pattern": {"String": "B"}, "behavior": "Isolated", "invert": False}
    steps = sequence("pretokenizers", isolated, metaspace("first"))
    file = described(PIECES, added_tokens=NAMES, normalizer=replace(content, String="e"), pre_tokenizer=steps)
    assert tokenizer_from_json(file).encode(text) == Oracle(file).encode(text, add_special=False)
