"""`webxpu convert tokenizer`: a SentencePiece vocabulary as one JSON file, and what `sentencepiece` makes of texts."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from webxpu.errors import Unsupported
from webxpu.formats.sentencepiece_writer import write_sentencepiece_model
from webxpu.host import exits
from webxpu.host.exits import BadModel, UsageError
from webxpu.host.fixture_texts import TEXTS
from webxpu.host.progress import download_bars
from webxpu.llm.files import Files
from webxpu.llm.load_tokenizer import open_tokenizer
from webxpu.llm.local_files import LocalBridge, as_bridge, local_source
from webxpu.text.hf_tokenizer import TURN_MARKS, Tokenizer
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.vocabulary_json import tokenizer_json_of, vocabulary_text

SUFFIX = ".json"

Report = Callable[[str, int, int | None], None]


def convert_tokenizer_command(options: argparse.Namespace) -> int:
    """The command."""
    with download_bars("reading") as report:
        done = convert_tokenizer(
            options.source, options.out, fixtures=options.fixtures, force=options.force, report=report
        )
    print(f"{options.out}: {done['pieces']:,} pieces, {done['bytes']:,} bytes", file=sys.stderr)
    if options.fixtures:
        print(f"{fixtures_path(options.out)}: {done['fixtures']} texts", file=sys.stderr)
    return exits.OK


def fixtures_path(out: Path) -> Path:
    """Where the fixtures of a vocabulary lie: beside it."""
    return out.with_name(f"{out.stem}.fixtures{SUFFIX}")


def convert_tokenizer(
    source: Path, out: Path, *, fixtures: bool = False, force: bool = False, report: Report = lambda *_: None
) -> dict[str, int]:
    """Writes a SentencePiece tokenizer as the JSON of `webxpu.text.vocabulary_json`.

    source    what `webxpu.load_tokenizer` takes: a tokenizer.model, a GGUF file, a folder with one of them
    out       where to; the name ends in .json
    fixtures  writes NAME.fixtures.json beside it too: a list of {name, text, ids, decoded}, made by `sentencepiece`,
              of a tokenizer.json by `tokenizers`. They are `encode(text, parse_special=False)` and `decode(ids)`; texts
              with names that this library does not know, or always takes for tokens, are left out
    force     replaces files that are there
    report    told (label, bytes done, bytes in all)

    Returns counts: "pieces", "bytes" of the vocabulary, "fixtures". Nothing is written before everything is known, and
    nothing half is left. Raises UsageError where a file is in the way or the tokenizer is of a kind without such a
    form, BadModel where there is no such source, Unsupported for fixtures without `sentencepiece`, FormatError.
    """
    paths = [out, *([fixtures_path(out)] if fixtures else [])]
    for path in paths:
        _check_free(path, force)
    if not fixtures and fixtures_path(out).exists():
        raise UsageError(f"{fixtures_path(out)} is of an earlier vocabulary; --fixtures --force makes it again")
    if fixtures and importlib.util.find_spec("sentencepiece") is None:
        raise Unsupported("--fixtures needs the package sentencepiece: pip install sentencepiece")
    if not source.exists():
        raise BadModel(f"no file or folder {source}")
    bridge = _Reading(lambda *at: report(source.name, *at))
    found = asyncio.run(open_tokenizer(Files(local_source(source), as_bridge(bridge))))
    if not isinstance(found, SentencePiece):
        kind = found.kind if isinstance(found, Tokenizer) else type(found).__name__
        raise UsageError(f"{source} must be a SentencePiece tokenizer, got {kind}, which has no such form")
    texts = [vocabulary_text(found)]
    cases = _made_by_its_library(found, texts[0]) if fixtures else []
    if fixtures:
        texts.append(_lines(cases))
    _write(dict(zip(paths, texts, strict=True)))
    return {"pieces": len(found.model.pieces), "bytes": out.stat().st_size, "fixtures": len(cases)}


def _check_free(path: Path, force: bool) -> None:
    if path.suffix != SUFFIX:
        raise UsageError(f"{path} must end in {SUFFIX}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder")
    if path.exists() and not force:
        raise UsageError(f"{path} exists; --force replaces it")


class _Reading(LocalBridge):
    """Says how far it has read."""

    def __init__(self, report: Callable[[int, int | None], None]) -> None:
        self.report, self.read_bytes = report, 0

    def read(self, path: Path, start: int, nbytes: int) -> bytes:
        found = super().read(path, start, nbytes)
        self.read_bytes += len(found)
        self.report(self.read_bytes, None)
        return found


def _made_by_its_library(tokenizer: SentencePiece, vocabulary: str) -> list[dict[str, Any]]:
    values = json.loads(vocabulary)
    return made_by_tokenizers(tokenizer, values) if "steps" in values else made_by_sentencepiece(tokenizer)


def made_by_tokenizers(tokenizer: SentencePiece, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The same of `tokenizers`, whose vocabularies with steps are: `values` is one. Texts with names of special tokens
    are left out: to that library such a name is always a token, or a piece."""
    from tokenizers import Tokenizer as RustTokenizer

    theirs = RustTokenizer.from_str(json.dumps(tokenizer_json_of(values)))
    names = [token.content for token in tokenizer.added if token.special]
    cases = []
    for name, text in TEXTS.items():
        if not any(content in text for content in names):
            ids = theirs.encode(text, add_special_tokens=False).ids
            cases.append({"name": name, "text": text, "ids": ids, "decoded": theirs.decode(ids)})
    return cases


def made_by_sentencepiece(tokenizer: SentencePiece) -> list[dict[str, Any]]:
    """Cases of `sentencepiece`: texts of many kinds, and the names of the tokenizer's own control pieces."""
    from sentencepiece import SentencePieceProcessor

    theirs = SentencePieceProcessor(model_proto=write_sentencepiece_model(tokenizer.model))
    found = [token.content for token in tokenizer.added if not token.special]
    cases = []
    for name, text in {**TEXTS, **_control_texts(tokenizer)}.items():
        if not any(content in text for content in found):
            ids = theirs.encode(text)
            cases.append({"name": name, "text": text, "ids": ids, "decoded": theirs.decode(ids)})
    return cases


def _control_texts(tokenizer: SentencePiece) -> Mapping[str, str]:
    """Names of control pieces, which are text like any other where nobody parses them."""
    names = [name for name in tokenizer.special_names if name not in TURN_MARKS][:8]
    if not names:
        return {}
    return {
        "control_name": names[0],
        "control_in_text": f"before {names[-1]} after",
        "control_adjacent": "".join(names),
        "control_spaced": f" {' '.join(names)} ",
        "control_broken": names[-1][:-1] + " " + names[-1][1:],
    }


def _lines(cases: list[dict[str, Any]]) -> str:
    return "[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n"


def _write(files: Mapping[Path, str]) -> None:
    """Writes all files under other names, then gives each its own."""
    made = {path: path.with_name(f".{path.name}.partial") for path in files}
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            made[path].write_text(text, "utf-8", newline="\n")
        for path, partial in made.items():
            os.replace(partial, path)
    finally:
        for partial in made.values():
            partial.unlink(missing_ok=True)
