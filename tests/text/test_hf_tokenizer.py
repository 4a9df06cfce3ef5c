"""The tokenizer against llama.cpp's and the model's golden ids, and against `tokenizers` for decoding."""

from __future__ import annotations

import asyncio
import copy
import json
import random
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

import webxpu
from tests.text.vocabularies import CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, made
from webxpu.errors import FormatError, ShapeError, Unsupported
from webxpu.formats.gguf import read_gguf
from webxpu.host.fetch import asset
from webxpu.text.gguf_tokenizer import tokenizer_json
from webxpu.text.hf_tokenizer import Tokenizer
from webxpu.text.pieces import byte_level
from webxpu.text.pretokenizers import PRE_TOKENIZERS
from webxpu.text.stream import TextStream

GOLDENS = Path(__file__).parents[1] / "goldens"
SMOLLM2 = json.loads((GOLDENS / "smollm2.json").read_text("utf-8"))
LLAMA_CPP = json.loads((GOLDENS / "llama_cpp_bpe.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def metadata():
    path = asset("smollm2-135m")
    with path.open("rb") as file:

        async def read_range(start, nbytes):
            file.seek(start)
            return file.read(nbytes), path.stat().st_size

        return asyncio.run(read_gguf(read_range)).metadata


@pytest.fixture(scope="module")
def smollm2(metadata) -> Tokenizer:
    return Tokenizer.from_gguf(metadata)


@pytest.mark.parametrize("sample", SMOLLM2["tokenizer_samples"], ids=lambda s: ascii(s["text"]))
def test_the_real_vocabulary_gives_the_golden_ids_and_the_text_back(smollm2, sample):
    assert smollm2.encode(sample["text"]) == sample["ids"]
    assert smollm2.decode(sample["ids"], skip_special=False) == sample["text"]


def test_the_golden_samples_are_sixteen_and_five_are_those_that_transformers_gets_wrong():
    samples = SMOLLM2["tokenizer_samples"]
    assert len(samples) == 16
    assert sum(not sample["transformers_gguf_ids_equal"] for sample in samples) == 5


@pytest.mark.parametrize("prompt", SMOLLM2["prompts"], ids=lambda p: p["kind"])
def test_golden_prompts_and_replies_pass_both_ways(smollm2, prompt):
    assert smollm2.encode(prompt["prompt"], add_special=True) == prompt["prompt_ids"]
    assert smollm2.decode(prompt["greedy_ids"], skip_special=False) == prompt["greedy_text"]
    assert smollm2.decode(prompt["greedy_ids"]) == prompt["greedy_text"].replace("<|im_end|>", "")


def test_what_the_file_says_about_its_tokens(smollm2):
    assert (smollm2.vocab_size, smollm2.bos_id, smollm2.add_bos) == (49152, 1, False)
    assert smollm2.eos_ids == (2, 0)  # <|im_end|> by the metadata, <|endoftext|> because it ends texts in any model
    assert smollm2.special_ids == frozenset(range(17))


@pytest.mark.parametrize("vocabulary", LLAMA_CPP["vocabularies"], ids=lambda v: v["pre"])
def test_46_cases_have_the_ids_of_llama_cpp(vocabulary):
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": vocabulary["pre"],
        "tokenizer.ggml.tokens": vocabulary["tokens"],
        "tokenizer.ggml.token_type": np.array(vocabulary["types"], np.int32),
        "tokenizer.ggml.merges": vocabulary["merges"],
    }
    tokenizer = Tokenizer.from_gguf(metadata)
    cases = LLAMA_CPP["cases"]
    assert len(cases) == len(vocabulary["ids"]) == 46
    for case, ids in zip(cases, vocabulary["ids"]):
        assert tokenizer.encode(case) == ids, case
        assert tokenizer.decode(ids) == case


# Patterns as the models' own files have them: Llama 3's, Qwen2's, Qwen3.5's and GPT-4o's tokenizer.json, and the
# tekken.json of Mistral Nemo.
OWN_PATTERNS = {
    "llama-bpe": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+",
    "qwen35": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "gpt-4o": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "tekken": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
WORDS = [
    *LLAMA_CPP["cases"],
    "x'LLs x'REs x'VEs x'Ss x'Ts x'Ms x'Ds x'lLs x'rEs x'vEs x'Lls x'Res x'Ves x'lls x'res x'ves x'ss x'ts x'ms x'ds",
    "camelCase HTMLPage ABC's ǅx // a/b\n/\n x/\n",
    "'Ré I'VE\r\n\r\n\t x1234567 ½Ⅳ a\u0301\u0301b \u0e01\u0e33\u00a0\u3000\u2028 \ufeffz",
]


@pytest.mark.parametrize("name", OWN_PATTERNS)
def test_words_are_cut_as_by_the_models_own_patterns(name):
    (pattern,) = PRE_TOKENIZERS[name].patterns
    ours, own = (Split(Regex(p), "isolated") for p in (pattern, OWN_PATTERNS[name]))
    for text in WORDS:
        assert ours.pre_tokenize_str(text) == own.pre_tokenize_str(text)


@pytest.mark.parametrize(
    ("pre", "text", "words"),
    [
        ("gpt-2", " 1234  x'll", [" 1234", " ", " x", "'ll"]),
        ("smollm", " 1234  x'll", [" ", "1", "2", "3", "4", " ", " x", "'ll"]),
        ("smollm", "  1", ["  ", "1"]),
        ("llama-bpe", " 12345  x'LL", [" ", "123", "45", " ", " x", "'LL"]),
        ("qwen2", " 12  x'LL?\n\n", [" ", "1", "2", " ", " x", "'LL", "?\n\n"]),
        ("qwen35", "ก\u0e33 1", ["ก\u0e33", " ", "1"]),
        ("falcon", "a ` 12345=>b", ["a", " ", "`", " ", "123", "45", "=>", "b"]),
        ("falcon", "12345", ["123", "45"]),
        ("default", "a ` 12345=>b", ["a", " `", " ", "123", "45", "=>", "b"]),
        ("deepseek-llm", "a.\r\n\n b1234 ,x東京の ж  ", [*"a.\r\n\n", " b", "1234", " ,", "x", "東京の", " ж", "  "]),
        ("deepseek-coder", "a.\r\n\n b12 ,xの ก  ", [*"a.\r\n\n", " b", "1", "2", " ,", *"xの ก", "  "]),
        (
            "deepseek-v3",
            "a.\r\n\n b1234 .x 京n ก\u0e33 ?!\n",
            ["a", ".\r\n\n", " b", "123", "4", " .", *"x 京n", " ก\u0e33", " ?!\n"],
        ),
        ("deepseek-v3", "(abc) \u2116x", ["(abc", ")", " \u2116", "x"]),
    ],
)
def test_each_rule_cuts_words_its_own_way(pre, text, words):
    pre_tokenizer = tokenizer_json(made(pre=pre))["pre_tokenizer"]
    whole = {
        "version": "1.0",
        "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
        "pre_tokenizer": pre_tokenizer,
    }
    cut = tokenizers.Tokenizer.from_str(json.dumps(whole)).pre_tokenizer.pre_tokenize_str(text)
    assert [byte_level(piece).decode() for piece, _ in cut] == words


def test_a_missing_rule_is_the_default_rule():
    metadata = made()
    del metadata["tokenizer.ggml.pre"]
    assert tokenizer_json(metadata) == tokenizer_json(made(pre="default"))


def test_qwen_normalises_text_and_others_do_not():
    assert Tokenizer.from_gguf(made(pre="qwen2")).encode("e\u0301") == [0xC3, 0xA9]
    assert Tokenizer.from_gguf(made(pre="gpt-2")).encode("e\u0301") == [0x65, 0xCC, 0x81]


def test_llama_3_takes_a_word_that_is_a_token_whole_and_puts_a_bos_first():
    # No merge of a pair makes "abc" or "ab": only the whole word is a token.
    merges = ["a b", "ab c"]
    extra = [("<bos>", CONTROL)]
    reordered = made(extra, merges, pre="llama-bpe", bos_token_id=258)
    reordered["tokenizer.ggml.merges"] = ["ab c"]
    whole = Tokenizer.from_gguf(reordered)
    assert (whole.encode("abc"), whole.encode("abc abc")[0]) == ([257], 257)
    assert (whole.add_bos, whole.encode("ab", add_special=True), whole.encode("", add_special=True)) == (
        True, [258, 256], [258],
    )  # fmt: skip
    reordered["tokenizer.ggml.pre"] = "gpt-2"
    assert Tokenizer.from_gguf(reordered).encode("abc") == [97, 98, 99]
    unasked = {**reordered, "tokenizer.ggml.pre": "llama-bpe", "tokenizer.ggml.add_bos_token": False}
    assert Tokenizer.from_gguf(unasked).encode("ab", add_special=True) == [256]
    assert not Tokenizer.from_gguf(made(pre="llama-bpe")).add_bos  # a file without such a token


def test_tokens_around_a_text_are_those_that_the_file_wants():
    keys = {"bos_token_id": 256, "eos_token_id": 257}
    extra = [("<bos>", CONTROL), ("<eos>", CONTROL)]
    both = Tokenizer.from_gguf(made(extra, add_bos_token=True, add_eos_token=True, **keys))
    assert both.encode("a", add_special=True) == [256, 97, 257]
    assert both.encode("a") == [97]
    assert (both.bos_id, both.eos_ids) == (256, (257,))
    neither = Tokenizer.from_gguf(made(extra, **keys))
    assert neither.encode("a", add_special=True) == [97]
    assert not neither.add_bos


def test_control_tokens_are_names_in_a_prompt_and_text_elsewhere(smollm2):
    text = "<|im_start|>user\nhi<|im_end|>"
    assert smollm2.encode(text)[0] == 1
    plain = smollm2.encode(text, parse_special=False)
    assert not smollm2.special_ids & set(plain)
    assert smollm2.decode(plain) == text


def test_user_defined_tokens_are_found_before_words_are_cut_and_are_no_control_tokens():
    tokenizer = Tokenizer.from_gguf(made([("<think>", USER_DEFINED), ("  ", USER_DEFINED), ("é", USER_DEFINED)]))
    assert tokenizer.encode("a<think>  b", parse_special=False) == [97, 256, 257, 98]
    assert tokenizer.encode("é") == [258]
    assert tokenizer.decode([256, 97, 257, 258]) == "<think>a  é"  # literal: é is no stand-in for byte 0xE9 here
    assert tokenizer.special_ids == frozenset()


def test_unused_tokens_are_never_found_and_unknown_ones_are_special():
    tokenizer = Tokenizer.from_gguf(made([("[PAD1]", UNUSED), ("<unk>", UNKNOWN)]))
    assert tokenizer.encode("[PAD1]") == list(b"[PAD1]")
    assert tokenizer.encode("<unk>") == [257]
    assert tokenizer.special_ids == frozenset((257,))
    assert tokenizer.decode([256, 257]) == "[PAD1]"


def test_every_token_that_ends_a_turn_is_an_end_the_file_s_own_first():
    extra = [("<|im_end|>", CONTROL), ("<|endoftext|>", CONTROL), ("<x>", CONTROL), ("<|eot_id|>", NORMAL)]
    tokenizer = Tokenizer.from_gguf(made(extra, eos_token_id=257, eot_token_id=258))
    assert tokenizer.eos_ids == (257, 258, 256)  # a normal token is text, whatever it is called


def test_decoding_any_ids_is_what_tokenizers_makes_of_them(smollm2, metadata):
    theirs = tokenizers.Tokenizer.from_str(json.dumps(tokenizer_json(metadata)))
    rng = random.Random(3)
    for _ in range(300):
        ids = [rng.randrange(smollm2.vocab_size) for _ in range(rng.randrange(1, 30))]
        for skip in (True, False):
            expected = theirs.decode(ids, skip_special_tokens=skip)
            assert smollm2.decode(ids, skip_special=skip) == expected
            stream = TextStream(smollm2, skip_special=skip)
            assert "".join(stream.push([i]) for i in ids) + stream.finish() == expected


def test_an_id_between_others_may_have_no_token():
    described = tokenizer_json(made())
    del described["model"]["vocab"]["A"]
    tokenizer = Tokenizer.from_json(described)
    assert tokenizer.vocab_size == 256
    with pytest.raises(ShapeError, match=r"^token_bytes: id must be one of 256 tokens, got 65$"):
        tokenizer.token_bytes(65)


@pytest.mark.parametrize("wrong", [49152, -1, 10**9])
def test_an_id_that_is_no_token_is_an_error(smollm2, wrong):
    with pytest.raises(ShapeError, match=f"^token_bytes: id must be one of 49152 tokens, got {wrong}$"):
        smollm2.decode([1, wrong])


BROKEN = [
    (
        {"tokenizer.ggml.model": "llama"},
        Unsupported,
        "tokenizer.ggml.model 'llama' is not supported; BPE with merges is: 'gpt2', 'gemma4'",
    ),
    ({"tokenizer.ggml.model": None}, FormatError, "the metadata key 'tokenizer.ggml.model' is missing"),
    (
        {"tokenizer.ggml.pre": "k9"},
        Unsupported,
        "tokenizer.ggml.pre 'k9' is not supported; known are codeshell, command-r",
    ),
    ({"tokenizer.ggml.tokens": None}, FormatError, "the metadata key 'tokenizer.ggml.tokens' is missing"),
    ({"tokenizer.ggml.tokens": [["a"]]}, FormatError, "tokenizer.ggml.tokens must be a list of strings"),
    ({"tokenizer.ggml.merges": None}, FormatError, "the metadata key 'tokenizer.ggml.merges' is missing"),
    ({"tokenizer.ggml.merges": ["a b"]}, FormatError, "merge 0 must join two tokens to a third, got 'a b'"),
    ({"tokenizer.ggml.merges": ["ab"]}, FormatError, "merge 0 must join two tokens to a third, got 'ab'"),
    ({"tokenizer.ggml.merges": ["a b c"]}, FormatError, "merge 0 must join two tokens to a third, got 'a b c'"),
    ({"tokenizer.ggml.merges": [1]}, FormatError, "merge 0 must be a string, got int"),
    ({"tokenizer.ggml.token_type": [1]}, FormatError, "tokenizer.ggml.token_type must be 256 integers, one a token"),
    (
        {"tokenizer.ggml.token_type": np.ones(255, np.int32)},
        FormatError,
        "tokenizer.ggml.token_type must be 256 integers, one a token",
    ),
    (
        {"tokenizer.ggml.token_type": np.ones(256, np.float32)},
        FormatError,
        "tokenizer.ggml.token_type must be 256 integers, one a token",
    ),
    (
        {"tokenizer.ggml.eos_token_id": 256},
        FormatError,
        "tokenizer.ggml.eos_token_id must be in the vocabulary of 256 tokens, got 256",
    ),
    ({"tokenizer.ggml.bos_token_id": "1"}, FormatError, "tokenizer.ggml.bos_token_id must be int, got str '1'"),
    ({"tokenizer.ggml.add_bos_token": 1}, FormatError, "tokenizer.ggml.add_bos_token must be bool, got int '1'"),
    ({"tokenizer.ggml.add_bos_token": True}, FormatError, "tokenizer.ggml.bos_token_id is missing, though the token"),
]


@pytest.mark.parametrize(("change", "error", "message"), BROKEN, ids=[message for _, _, message in BROKEN])
def test_metadata_that_makes_no_tokenizer_is_refused(change, error, message):
    metadata = {key: value for key, value in {**made(), **change}.items() if value is not None}
    with pytest.raises(error, match=re.escape(message)):
        Tokenizer.from_gguf(metadata)


def test_in_the_browser_the_bridge_encodes_from_the_same_json_and_decoding_calls_nothing(monkeypatch):
    made_of, asked = [], []

    def create_tokenizer(text: str, config: str) -> int:
        made_of.append((json.loads(text), json.loads(config)))
        return 40 + len(made_of)

    def encode_text(handle: int, text: str, add_special: bool) -> list[int]:
        asked.append((handle, text, add_special))
        return [97]

    bridge = types.SimpleNamespace(create_tokenizer=create_tokenizer, encode_text=encode_text)
    monkeypatch.setattr(webxpu, "bridge", bridge, raising=False)
    monkeypatch.setitem(sys.modules, "webxpu.bridge", bridge)
    monkeypatch.setattr(sys, "platform", "emscripten")
    metadata = made([("<c>", CONTROL)])
    tokenizer = Tokenizer.from_gguf(metadata)
    assert tokenizer.encode("a<c>", add_special=True) == [97]
    assert tokenizer.encode("b", parse_special=False) == [97]
    assert asked == [(41, "a<c>", True), (42, "b", False)]
    whole = tokenizer_json(metadata)
    plain = copy.deepcopy(whole)
    plain["added_tokens"] = []
    assert made_of == [
        (whole, {"clean_up_tokenization_spaces": False}),
        (plain, {"clean_up_tokenization_spaces": False}),
    ]
    assert tokenizer.decode([97, 256, 98]) == "ab"
    assert len(asked) == 2


def test_the_text_of_an_id_is_none_where_it_has_none_of_its_own(smollm2):
    [hello] = smollm2.encode(" hello")
    snowman = smollm2.encode("☃")
    assert smollm2.id_to_token(hello) == " hello"
    assert b"".join(map(smollm2.token_bytes, snowman)).decode() == "☃"
    assert None in [smollm2.id_to_token(i) for i in snowman]  # part of a character
    assert [smollm2.id_to_token(i) for i in (2, -1, 49152)] == [None] * 3
    model = {"type": "BPE", "vocab": {"a": 0, "b": 2}, "merges": []}
    gap = Tokenizer.from_json({"model": model, "decoder": {"type": "Fuse"}})
    assert [gap.id_to_token(i) for i in range(3)] == ["a", None, "b"]


def test_added_tokens_keep_their_ids_where_the_special_ones_before_them_are_text():
    tokens = [("<s>", 2, True), ("<end>", 3, True), ("<tool>", 4, False)]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    described = {
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []},
        "added_tokens": [{"content": name, "id": i, "special": special, **flags} for name, i, special in tokens],
        "decoder": {"type": "Fuse"},
    }
    tokenizer = Tokenizer.from_json(described)
    assert tokenizer.encode("a<tool>b") == [0, 4, 1]
    assert tokenizer.encode("a<tool>b", parse_special=False) == [0, 4, 1]
