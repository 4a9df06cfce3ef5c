"""llama.cpp's golden sets in Pyodide, where merges run in the JavaScript library: its ids for GGUF vocabularies."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from playwright_tests.python_page import PythonPage
from tests.text.real_files import golden_cases, real_file
from webxpu.host.serve import Server

VOCABULARIES = ("deepseek-llm", "gemma-4", "gpt-2", "llama-bpe", "llama-spm", "phi-3", "qwen2")
# Those whose control tokens are looked at too, for which merges are read a second time.
SMALL = ("gpt-2", "llama-spm", "phi-3")
REGISTER = """async ([url, name]) => {
  globalThis.bridge.registerFile(name, await (await fetch(url + name)).blob());
}"""
FORGET = "(name) => globalThis.bridge.forgetFile(name)"
ENCODE = """
tokenizer = await webxpu.load_tokenizer("file:" + given["name"])
ids = [tokenizer.encode(text) for text in given["texts"]]
texts = [tokenizer.decode(i) for i in ids]
if not given["names"]:
    return ids, texts, []
names = [name for name, index in tokenizer.special_names.items() if index in tokenizer.special_ids]
text = names[0] + "a" + names[-1]
found, plain = tokenizer.encode(text), tokenizer.encode(text, parse_special=False)
apart = tokenizer.special_ids.isdisjoint(plain) and tokenizer.decode(plain) == text
return ids, texts, [apart, [tokenizer.id_to_piece(i) for i in (found[0], found[-1])] == [names[0], names[-1]]]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vocabularies")


@pytest.fixture(params=VOCABULARIES)
def name(request: pytest.FixtureRequest, python: PythonPage, site_server: Server, folder: Path) -> Iterator[str]:
    """A vocabulary, which the page has as a file."""
    shutil.copyfile(real_file(request.param), folder / request.param)
    python.page.evaluate(REGISTER, [site_server.share(folder), request.param])
    yield request.param
    python.page.evaluate(FORGET, request.param)
    (folder / request.param).unlink()


def test_a_golden_set_has_the_ids_of_llama_cpp(python: PythonPage, name: str) -> None:
    cases = golden_cases(name)
    ids, texts, names = python.run(ENCODE, name=name, texts=[text for text, _ in cases], names=name in SMALL)
    for (text, expected), found, back in zip(cases, ids, texts, strict=True):
        assert found == expected, ascii(text)
        assert back == text
    assert names == ([True, True] if name in SMALL else [])
