"""Names of control tokens in texts are found, or left as text, as llama.cpp does with the same GGUF vocabularies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.text.real_files import gguf_metadata
from webxpu.text.tokenizers import tokenizer_from_gguf

GOLDEN = json.loads((Path(__file__).parents[1] / "goldens" / "special_tokens.json").read_text("utf-8"))


@pytest.mark.parametrize("name", GOLDEN["cases"])
def test_ids_are_those_of_llama_cpp_with_names_as_tokens_and_as_text(name: str) -> None:
    made = tokenizer_from_gguf(gguf_metadata(name))
    assert len(GOLDEN["cases"][name]) == 30
    for text, tokens, plain in GOLDEN["cases"][name]:
        assert made.encode(text) == tokens, text
        assert made.encode(text, parse_special=False) == plain, text


def test_a_normal_token_called_an_end_stays_text_where_llama_cpp_takes_it_for_one() -> None:
    """As of the model's own tokenizer: `</s>` of Qwen2 is three tokens in a text."""
    made = tokenizer_from_gguf(gguf_metadata("qwen2"))
    assert made.encode("</s>") == [522, 82, 29]
    assert made.id_to_piece(128247) == "</s>"
