"""`load_tokenizer` in Pyodide: every kind of file from every place, and what a user reads where there is none."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import webxpu
from playwright_tests.python_page import PythonPage
from tests.llm.tiny import finished
from tests.text.gguf_files import gguf_bytes
from tests.text.sentencepiece_files import trained
from tests.text.test_gguf_pieces import NAMES, TRAINED, metadata
from tests.text.vocabularies import CONTROL, UNIGRAM, made
from webxpu.host.serve import Server
from webxpu.text.gguf_tokenizer import tokenizer_json
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.tokenizers import tokenizer_from_json
from webxpu.text.vocabulary_json import vocabulary_text

NAME = next(name for name in NAMES if TRAINED[name].byte_fallback)
BPE = made([("<s>", CONTROL)], ["h e", "l l"], bos_token_id=258)
FILES = {
    "tokenizer.model": trained()[NAME],
    "pieces.gguf": gguf_bytes(metadata(TRAINED[NAME])),
    "bpe.gguf": gguf_bytes(BPE),
    "bpe.json": json.dumps(tokenizer_json(BPE)).encode(),
    "unigram.json": json.dumps(UNIGRAM).encode(),
    "steps.json": vocabulary_text(tokenizer_from_json(UNIGRAM)).encode(),
    "vocabulary.json": vocabulary_text(SentencePiece.from_bytes(trained()[NAME])).encode(),
}
TEXTS = ["hello  world", "\u6771\u4eac caf\u00e9 \U0001f600\r\n", "<s> x", ""]
# Registers the files as tok/NAME, and writes them into the private file system.
PLACE = """async ([url, names]) => {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle("tok", { create: true });
  for (const name of names) {
    const blob = await (await fetch(url + name)).blob();
    globalThis.bridge.registerFile(`tok/${name}`, blob);
    const file = await (await folder.getFileHandle(name, { create: true })).createWritable();
    await file.write(blob);
    await file.close();
  }
}"""
REMOVE = """async (names) => {
  for (const name of names) globalThis.bridge.forgetFile(`tok/${name}`);
  await (await navigator.storage.getDirectory()).removeEntry("tok", { recursive: true });
}"""
LOAD = """
import base64
from pathlib import Path

async def used(source, **options):
    '''What a tokenizer makes of the texts, or its error.'''
    try:
        found = await webxpu.load_tokenizer(source, **options)
    except Exception as e:
        return [type(e).__name__, str(e)]
    ids = [found.encode(text, add_special=True) for text in given["texts"]]
    return [ids, [found.decode(i, skip_special=False) for i in ids], found.vocab_size]

"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made_in = tmp_path_factory.mktemp("tokenizers")
    for name, data in FILES.items():
        (made_in / name).write_bytes(data)
    (made_in / "no.json").write_bytes(b'{"a": 1}')
    return made_in


def wanted(name: str) -> list[Any]:
    """The same in CPython."""
    found = finished(webxpu.load_tokenizer(FILES[name]))
    ids = [found.encode(text, add_special=True) for text in TEXTS]
    return [ids, [found.decode(i, skip_special=False) for i in ids], found.vocab_size]


def test_each_kind_loads_from_each_place_and_cuts_as_in_cpython(
    python: PythonPage, site_server: Server, folder: Path
) -> None:
    url = site_server.share(folder)
    python.page.evaluate(PLACE, [url, list(FILES)])
    found, folders, kept = python.run(
        LOAD
        + """
found = {}
for name, text in given["files"].items():
    data = base64.b64decode(text)
    path = Path("/tmp") / name
    path.write_bytes(data)
    for place in (given["url"] + name, f"file:tok/{name}", f"opfs:tok/{name}", data, path):
        found.setdefault(name, []).append(await used(place))
folders = [await used(place) for place in (given["url"], "file:tok/", "opfs:tok/", Path("/tmp"))]
kept = [file.url for file in await webxpu.cached() if file.url.startswith(given["url"])]
for url in kept:
    await webxpu.forget(url)
return found, folders, len(kept)
""",
        files={name: base64.b64encode(data).decode() for name, data in FILES.items()},
        url=url,
        texts=TEXTS,
    )
    python.page.evaluate(REMOVE, list(FILES))
    for name in FILES:
        assert found[name] == [wanted(name)] * 5, name
    assert folders == [wanted("tokenizer.model")] * 4
    assert kept == len(FILES)


def test_errors_are_those_that_a_user_can_act_on(python: PythonPage, site_server: Server, folder: Path) -> None:
    url = site_server.share(folder)
    wrong, missing, empty, unregistered, local = python.run(
        LOAD
        + """
sources = (f"{given['url']}no.json", f"{given['url']}none.model", f"{given['url']}none/", "file:none")
return [await used(source) for source in (*sources, Path("/tmp/none"))]
""",
        url=url,
        texts=TEXTS,
    )
    assert wrong[0] == "FormatError"
    assert wrong[1].startswith("no.json: must be a GGUF file, a tokenizer.json, ")
    assert wrong[1].endswith("got JSON with the keys 'a': 7b 22 61 22 3a 20 31 7d")
    assert missing[0] == "FetchError"
    assert missing[1].startswith(f"{url}none.model: ")
    assert "404" in missing[1]
    assert empty[0] == "FormatError"
    assert empty[1].endswith(
        "none: the folder must have a tokenizer; looked for manifest.json, tokenizer_config.json, tokenizer.json, "
        "tokenizer.model, tekken.json"
    )
    assert unregistered[0] == "FetchError"
    assert "none" in unregistered[1]
    assert local == ["FetchError", "load_tokenizer: no file or folder /tmp/none"]
