"""A tokenizer_config.json beside a tokenizer.model counts as it does to transformers 5.24.

Ids and pieces were compared with that library's over random texts and configurations of Mistral's three models, of
sentencepiece's own and of T5's: equal for its general class with `legacy`, and equal without it and for its
LlamaTokenizer where no span begins with a space and no two stand beside each other.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.text.sentencepiece_files import BPE, BYTES, CONTROL, HEAD, NORMAL, USER_DEFINED, model
from webxpu.errors import FormatError, Unsupported
from webxpu.text.tokenizers import tokenizer_from_model

LETTERS = [(c, -2.0 - i, NORMAL) for i, c in enumerate("\u2581ab<>|endoftxuk/s")]
PIECES = [*HEAD, *BYTES, *LETTERS, ("\u2581a", -1.0, NORMAL), ("[x]", 0.0, USER_DEFINED), ("<mask>", 0.0, CONTROL)]
DATA = model(PIECES, {3: BPE, 35: 1}, {4: 0})
SIZE = len(PIECES)
A, INNER = SIZE - 3, 3 + 256 + 1  # with its word boundary, and without


def made(added: dict[str, int] | None = None, **settings: Any) -> Any:
    return tokenizer_from_model(DATA, settings, added)


def entry(content: str, **flags: bool) -> dict[str, Any]:
    return {"content": content, "special": False, "normalized": False, **flags}


def test_added_tokens_are_found_with_their_ids_and_flags() -> None:
    decoder = {
        str(SIZE): entry("<t>", rstrip=True), str(SIZE + 2): entry("<u>", special=True), "0": entry("<unk>"),
        "2": entry("</s>", special=True, lstrip=True), str(SIZE + 1): entry("<|end|>"),
    }  # fmt: skip
    found = made(added_tokens_decoder=decoder)
    assert found.encode("a<t> a") == [A, SIZE, A]
    assert found.encode("a </s><u>") == [A, 2, SIZE + 2]
    assert found.encode("<t><u>", parse_special=False)[0] == SIZE
    assert found.special_ids == {1, 2, SIZE - 1, SIZE + 1, SIZE + 2}
    assert found.eos_ids == (2, SIZE + 1)
    assert found.decode([A, 0, SIZE, SIZE + 2]) == "a \u2047 <t>"
    assert found.vocab_size == SIZE + 3


def test_an_added_tokens_json_counts_where_there_is_no_decoder() -> None:
    beside = {"<t>": SIZE, "<u>": SIZE + 1}
    found = made(beside, pad_token="<u>")
    assert found.encode("<t>a<u>", parse_special=False)[:2] == [SIZE, A]
    assert (found.pad_id, found.special_ids - {1, 2, SIZE - 1}) == (SIZE + 1, {SIZE + 1})
    assert made(beside, added_tokens_decoder={}).vocab_size == SIZE


@pytest.mark.parametrize(
    ("settings", "every"),
    [
        ({}, True), ({"legacy": True}, True), ({"legacy": False}, False), ({"legacy": None}, False),
        ({"tokenizer_class": "LlamaTokenizerFast"}, False), ({"tokenizer_class": "CodeLlamaTokenizer"}, False),
        ({"tokenizer_class": "LlamaTokenizer", "legacy": True}, True), ({"tokenizer_class": "Other"}, True),
        ({"tokenizer_class": "T5Tokenizer", "legacy": False}, True),
    ],
)  # fmt: skip
def test_legacy_gives_each_span_a_word_boundary(settings: dict[str, Any], every: bool) -> None:
    found = made(**settings)
    after = A if every else INNER
    assert found.encode("<s>a</s>a") == [1, after, 2, after]
    assert found.encode("a</s>a") == [A, 2, after]
    assert found.encode_parts([1, "a"]) == [1, after]


def test_roles_are_those_of_the_configuration() -> None:
    found = made(bos_token="<mask>", eos_token={"content": "[x]"}, pad_token="<new>", additional_special_tokens=["<s>"])
    assert (found.bos_id, found.eos_ids, found.pad_id) == (SIZE - 1, (SIZE - 2, 2), SIZE)
    assert found.encode("a", add_special=True) == [SIZE - 1, A]
    assert found.special_names.keys() == {"<unk>", "<s>", "</s>", "[x]", "<mask>", "<new>"}
    assert found.encode("[x]<new>") == [SIZE - 2, SIZE]
    others = made(additional_special_tokens=[{"content": "<b>"}, "<a>"], extra_special_tokens={"x_token": "<c>"})
    assert [others.id_to_piece(SIZE + i) for i in range(3)] == ["<b>", "<a>", "<c>"]  # after what is there, in order


@pytest.mark.parametrize(
    ("settings", "around"),
    [
        ({}, (True, False)), ({"add_bos_token": False, "add_eos_token": True}, (False, True)),
        ({"tokenizer_class": "T5TokenizerFast"}, (False, True)), ({"tokenizer_class": "AlbertTokenizer"}, (True, True)),
        ({"tokenizer_class": "T5Tokenizer", "add_eos_token": False}, (False, False)),
    ],
)  # fmt: skip
def test_what_is_put_around_a_text_is_said_by_the_configuration_or_its_class(
    settings: dict[str, Any], around: tuple[bool, bool]
) -> None:
    found = made(**settings)
    begins, ends = around
    assert found.encode("a", add_special=True) == [*[1][:begins], A, *[2][:ends]]
    assert (found.add_bos, found.add_eos) == around


def test_names_are_found_in_the_text_as_it_is_where_it_gets_a_word_boundary() -> None:
    decoder = {str(SIZE): entry("a b", normalized=True)}
    assert made(added_tokens_decoder=decoder).encode("a\u2581b")[0] != SIZE
    unprefixed = model(PIECES, {3: BPE, 35: 1}, {3: 0, 4: 0})
    assert tokenizer_from_model(unprefixed, {"added_tokens_decoder": decoder}).encode("a\u2581b") == [SIZE]


@pytest.mark.parametrize("kind", ["XLMRobertaTokenizer", "NllbTokenizerFast", "PegasusTokenizer"])
def test_classes_with_other_ids_than_the_model_are_refused(kind: str) -> None:
    with pytest.raises(Unsupported, match=r"^tokenizer: a \w+Tokenizer has other ids than its SentencePiece model"):
        made(tokenizer_class=kind)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"added_tokens_decoder": []}, "added_tokens_decoder must be an object, got list"),
        ({"added_tokens_decoder": {"x": {}}}, "added_tokens_decoder: an id must be a whole number, got 'x'"),
        ({"added_tokens_decoder": {"9": "<t>"}}, "added_tokens_decoder[9] must be an object with a content, got '<t>'"),
        ({"added_tokens_decoder": {"9": entry("t", lstrip=1)}}, "added_tokens_decoder[9].lstrip must be true or false, got '1'"),  # noqa: E501
        ({"added_tokens_decoder": {"999": entry("<s>")}}, "added tokens: '<s>' must have one id, got 1 and 999"),
        ({"added_tokens_decoder": {"0": entry("<t>")}}, "added tokens: id 0 must stay '<unk>', got '<t>'"),
        ({"eos_token": 3}, "eos_token must be a text or an object with a content, got '3'"),
        ({"additional_special_tokens": "<t>"}, "additional_special_tokens must be a list, got str"),
        ({"additional_special_tokens": [3]}, "additional_special_tokens[0] must be a text or an object"),
        ({"add_bos_token": 1}, "add_bos_token must be true or false, got '1'"),
    ],
)  # fmt: skip
def test_a_broken_configuration_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=f"^tokenizer_config.json: {re.escape(message)}"):
        made(**settings)
    with pytest.raises(FormatError, match=r"^added_tokens\.json: an id must be a whole number, got '-1'$"):
        made({"<t>": -1})
