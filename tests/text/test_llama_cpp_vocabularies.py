"""Tokenizers of GGUF vocabularies against llama.cpp's goldens, and against the models' own tokenizer.json."""

from __future__ import annotations

import asyncio
import random
import re
import unicodedata
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

import webxpu
from tests.text.real_files import gguf_metadata, golden_cases, real_file
from tests.text.vocabularies import CONTROL, NORMAL, UNKNOWN, USER_DEFINED
from webxpu.errors import FormatError
from webxpu.text.gguf_tokenizer import tokenizer_json
from webxpu.text.hf_tokenizer import Tokenizer
from webxpu.text.pretokenizers import PRE_TOKENIZERS
from webxpu.text.stream import TextStream
from webxpu.text.tokenizers import AnyTokenizer, tokenizer_from_gguf

VOCABULARIES = (
    "command-r", "deepseek-coder", "deepseek-llm", "falcon", "gemma-4", "gpt-2", "llama-bpe", "llama-spm", "mpt",
    "phi-3", "qwen2", "refact", "starcoder",
)  # fmt: skip


@pytest.fixture(scope="module")
def opened(request: pytest.FixtureRequest) -> tuple[str, AnyTokenizer]:
    """A vocabulary by name; pytest runs the tests of one after each other, so that each is opened once."""
    return request.param, asyncio.run(webxpu.load_tokenizer(real_file(request.param)))


def of(*names: str) -> Any:
    return pytest.mark.parametrize("opened", names, indirect=True)


@of(*VOCABULARIES)
def test_every_golden_case_has_llama_cpps_ids_and_becomes_its_text_again(opened: tuple[str, AnyTokenizer]) -> None:
    name, tokenizer = opened
    cases = golden_cases(name)
    assert len(cases) == 46
    for text, ids in cases:
        assert tokenizer.encode(text) == ids, ascii(text)
        assert tokenizer.encode(text, parse_special=False) == ids, ascii(text)
        assert tokenizer.decode(ids) == text
        stream = TextStream(tokenizer)
        assert "".join(stream.push([index]) for index in ids) + stream.finish() == text


@of(*VOCABULARIES)
def test_names_of_control_tokens_are_such_or_text(opened: tuple[str, AnyTokenizer]) -> None:
    tokenizer = opened[1]
    named = [name for name, index in tokenizer.special_names.items() if index in tokenizer.special_ids]
    for first, last in ((named[0], named[-1]), (named[-1], named[0])):
        text = f"a{first}b {last}"
        found, plain = tokenizer.encode(text), tokenizer.encode(text, parse_special=False)
        assert {tokenizer.special_names[name] for name in (first, last)} <= set(found)
        assert tokenizer.special_ids.isdisjoint(plain)
        assert tokenizer.decode(plain) == text
        assert tokenizer.decode(found).replace(" ", "") == "ab"  # llama.cpp begins each span of Llama's as a text


def test_qwen35_has_the_goldens_of_composed_text_and_without_its_normaliser_all() -> None:
    """The file is Qwen2's vocabulary with another rule, and its ids are those of llama.cpp, which normalises no text.
    Qwen3.5 does, to NFC: in its own tokenizer, and in transformers 5.24."""
    metadata, cases = gguf_metadata("qwen35"), golden_cases("qwen35")
    tokenizer = Tokenizer.from_gguf(metadata)
    described = tokenizer_json(metadata)
    assert described["normalizer"] == {"type": "NFC"}
    plain = Tokenizer({**described, "normalizer": None}, bos_id=None, eos_ids=(), add_bos=False)
    decomposed = 0
    for text, ids in cases:
        composed = unicodedata.normalize("NFC", text)
        decomposed += text != composed
        assert plain.encode(text) == ids, ascii(text)
        assert tokenizer.encode(text) == plain.encode(composed), ascii(text)
        assert tokenizer.decode(ids) == text
    assert (len(cases), decomposed) == (50, 3)


SPACES = [*" \n\t\r\x85\xa0\u2028\u3000\ufeff\u200b\u180e\u2581", "  ", "\n\n", " \n\n\n", "    ", "\t\t"]
WORDS = [
    *"'.,!?$+<=>^~|`_-()[]",
    "I'll",
    "DON'T",
    "'\u017f",
    "x1234567",
    "\u00bd\u2163\u0661",
    "e\u0301",
    "\u0e01\u0e33",
]
SYMBOLS = [
    "\u4e00\u9fa6\u0800\uac00\ud7ff\uff01\u2018",
    "\u01c5\u10d0\u1c90\U00010400\U0001e943",
    "\U0001f468\u200d\U0001f469",
]


def random_text(rng: random.Random) -> str:
    def character() -> str:
        code = rng.randrange(0x110000 if rng.random() < 0.3 else 0x3000)
        return chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd"

    parts = (SPACES, WORDS, SYMBOLS, [character() for _ in range(4)])
    return "".join(rng.choice(rng.choice(parts)) for _ in range(rng.randint(1, 24)))


OWN = {"qwen2": "qwen3", "llama-bpe": "llama3", "gemma-4": "gemma3"}


@of(*OWN)
def test_random_texts_and_ids_are_as_by_the_models_own_tokenizer_json(opened: tuple[str, AnyTokenizer]) -> None:
    """By pieces: of Gemma 3 and 4 some ids differ. Special names that the other model lacks are left out."""
    name, ours = opened
    own, rng = tokenizers.Tokenizer.from_file(str(real_file(f"{OWN[name]}/tokenizer.json"))), random.Random(name)
    same = [i for i in range(ours.vocab_size) if own.id_to_token(i) == ours.id_to_piece(i)]
    common = [name for name, index in ours.special_names.items() if index in same]
    assert len(common) > 2
    for _ in range(300):
        text = random_text(rng) + rng.choice(["", rng.choice(common), "<\n>"]) + random_text(rng)
        ids, theirs = ours.encode(text), own.encode(text, add_special_tokens=False)
        assert [ours.id_to_piece(index) for index in ids] == theirs.tokens, ascii(text)
        back = own.decode(theirs.ids, skip_special_tokens=False)
        assert ours.decode(ids, skip_special=False) == back, ascii(text)
        if name != "gemma-4":  # there `tokenizers` gives up a run of bytes whole that has one wrong
            assert ids == theirs.ids
            ids = rng.choices(same, k=20)
            for skip in (False, True):
                assert ours.decode(ids, skip_special=skip) == own.decode(ids, skip_special_tokens=skip), ids


def test_deepseeks_letters_are_the_same_2729_in_the_library_as_in_the_ranges() -> None:
    letters = PRE_TOKENIZERS["deepseek-llm"].patterns[1].removeprefix(r"\s?").removesuffix("+")
    everything = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    others = "".join(part for part, _ in Split(Regex(letters), "removed").pre_tokenize_str(everything))
    kept = set(everything) - set(others)
    assert kept == set(re.findall(letters, everything))
    assert len(kept) == 2729
    assert {unicodedata.category(c) for c in kept} == {"Lu", "Ll", "Lt"}
    # Letters of two cases that have come since, and those of the same blocks that have no case.
    assert kept.isdisjoint("\u01bb\u0294\u0560\u10d0\ua792\U00010570\u2d00")


TEXT_PIECES = ["a", "b", "\u2581", "\n", "\u2581a", "ab", "\n\n", "\u2581\u2581", "\u2581\u2581a"]
TEXT_MERGES = ["\n \n", "\u2581 \u2581", "\u2581 a", "a b", "\u2581\u2581 a"]


def gemma4(**changes: Any) -> dict[str, Any]:
    """Metadata of a vocabulary of texts: an unknown token, the bytes, a few pieces, a control and a user's token."""
    tokens = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *TEXT_PIECES, "<turn>", "<tool>"]
    types = [UNKNOWN, *[6] * 256, *[NORMAL] * len(TEXT_PIECES), CONTROL, USER_DEFINED]
    keys = {"model": "gemma4", "tokens": tokens, "token_type": np.array(types), "merges": TEXT_MERGES} | changes
    return {f"tokenizer.ggml.{key}": value for key, value in keys.items()}


def test_a_vocabulary_of_texts_has_spaces_escaped_and_bytes_for_what_it_lacks() -> None:
    tokenizer = tokenizer_from_gguf(gemma4())

    def pieces(text: str, **options: bool) -> list[str]:
        return [tokenizer.id_to_piece(index) for index in tokenizer.encode(text, **options)]

    assert pieces("  ab a") == ["\u2581\u2581", "ab", "\u2581a"]
    assert pieces("a\n\n\nb") == ["a", "\n\n", "\n", "b"]
    assert pieces("\u00e9\u2581<0x41>") == [
        "<0xC3>", "<0xA9>", "\u2581", "<0x3C>", "<0x30>", "<0x78>", "<0x34>", "<0x31>", "<0x3E>",
    ]  # fmt: skip
    assert pieces("a<turn> <tool>") == ["a", "<turn>", "\u2581", "<tool>"]
    plain = pieces("a<turn><tool>", parse_special=False)
    assert (plain[0], plain[-1], "<turn>" in plain) == ("a", "<tool>", False)
    for text in ("  ab a\n\n", "caf\u00e9 \U0001f600", "a<turn> <tool>", "<0x41>"):
        for parse_special in (False, True):
            ids = tokenizer.encode(text, parse_special=parse_special)
            assert tokenizer.decode(ids, skip_special=False) == text
            stream = TextStream(tokenizer, skip_special=False)
            assert "".join(stream.push([index]) for index in ids) + stream.finish() == text
    assert tokenizer.decode([1 + 0xE6, 1 + 0x9D]) == "\ufffd"
    assert not tokenizer.add_bos
    assert tokenizer_from_gguf(gemma4(bos_token_id=266, add_bos_token=True)).encode("a", add_special=True)[0] == 266


@of("gemma-4")
def test_runs_of_newlines_that_are_tokens_come_whole_out_of_the_merges(opened: tuple[str, AnyTokenizer]) -> None:
    """llama.cpp takes such a run without looking at merges; a tokenizer.json has no way to say so for some words."""
    tokenizer = opened[1]
    for count in range(1, 32):
        assert tokenizer.encode("\n" * count) == [tokenizer.piece_to_id("\n" * count)]


def test_a_vocabulary_of_texts_without_a_byte_is_refused() -> None:
    made = gemma4()
    made["tokenizer.ggml.tokens"][1 + 0x7F] = "other"
    rule = r"^tokenizer: tokenizer\.ggml\.tokens must have all of <0x00> to <0xFF>, got no <0x7F>$"
    with pytest.raises(FormatError, match=rule):
        tokenizer_from_gguf(made)


@of("gemma-4")
def test_gemma_4s_turns_end_though_its_file_names_the_end_of_texts_alone(opened: tuple[str, AnyTokenizer]) -> None:
    assert [opened[1].id_to_piece(index) for index in opened[1].eos_ids] == ["<eos>", "<turn|>"]


@of("phi-3")
def test_of_several_unknown_pieces_the_named_one_is_it_and_the_others_are_control_pieces(
    opened: tuple[str, AnyTokenizer],
) -> None:
    tokenizer, types = opened[1], gguf_metadata("phi-3")["tokenizer.ggml.token_type"]
    fillers = np.flatnonzero(types == UNKNOWN).tolist()
    assert (len(fillers), types[0], tokenizer.unk_id) == (53, CONTROL, 0)
    assert set(fillers) <= tokenizer.special_ids
    assert 0 not in tokenizer.special_ids
    assert tokenizer.encode("[PAD32011]") == [32011]
    assert tokenizer.special_ids.isdisjoint(tokenizer.encode("[PAD32011]", parse_special=False))
    unnamed = {k: v for k, v in gguf_metadata("phi-3").items() if k != "tokenizer.ggml.unknown_token_id"}
    with pytest.raises(
        FormatError, match=r"pieces\[32012\] must be the only unknown piece, got one beside pieces\[32011\]$"
    ):
        tokenizer_from_gguf(unnamed)
