"""The examples of the guides run, on a tiny model computed by NumPy and a small tokenizer, and their tables name what
there is."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import webxpu
from tests.llm import tiny
from tests.llm.numpy_device import numpy_engine
from tests.text.sentencepiece_files import trained
from webxpu.gpu.target import Gpu
from webxpu.host.cli import parsed
from webxpu.llm import models
from webxpu.llm.checkpoint import open_gguf
from webxpu.llm.dry import Dry
from webxpu.llm.model import Model, load, window
from webxpu.llm.sampler import Sampling
from webxpu.llm.sequence import Sequence
from webxpu.llm.source import Source
from webxpu.ops.logprobs import MAX_MOST
from webxpu.quant.kv import KV_TYPES
from webxpu.stored import StoredFile
from webxpu.text.gguf_pieces import MODEL_TYPES
from webxpu.text.gguf_tokenizer import BPE_KINDS
from webxpu.text.tokenizers import AnyTokenizer

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "docs" / "models.md").read_text("utf-8")
TEXT_GUIDE = (ROOT / "docs" / "tokenizers.md").read_text("utf-8")


def table(head: str) -> list[list[str]]:
    """The cells of the table whose first column is called so."""
    [body] = re.findall(rf"^\| {re.escape(head)} \|.*\n\| ---.*\n((?:\|.*\n)+)", GUIDE, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in body.splitlines()]


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """What each keyword of a function is without being said."""
    given = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in given if p.kind is p.KEYWORD_ONLY}


def named(rows: list[list[str]]) -> dict[str, Any]:
    return {row[0].strip("`"): ast.literal_eval(row[1].strip("`")) for row in rows}


async def opened(source: str, **options: Any) -> Model:
    """A model as `load` makes it, but tiny and in NumPy's memory."""
    asked = inspect.signature(load).bind(source, **options)
    asked.apply_defaults()
    config, arrays = tiny.model()[0], tiny.dense()
    capacity, sinks = window(config, asked.arguments["context_tokens"], asked.arguments["sink_tokens"])
    room = {"kv": asked.arguments["kv"], "sinks": sinks, "sequences": asked.arguments["sequences"]}
    engine = numpy_engine(config, arrays, capacity, **room).engine
    engine.device.gpu = Gpu({}, frozenset())  # type: ignore[misc]
    checkpoint = open_gguf(tiny.header(), Source.parse(source))
    return Model(engine, checkpoint, tensors={}, owns_device=False, load_ms=1.0)


def async_body(code: str, name: str) -> CodeType:
    return compile(code, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def run_examples(guide: str) -> tuple[dict[str, Any], int]:
    """Runs a page's examples one after the other; returns the names that they leave and how many there were."""
    examples = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    kept: dict[str, Any] = {}

    async def run() -> None:
        for number, example in enumerate(examples):
            done = eval(async_body(example, f"example {number}"), kept)
            if done is not None:
                await done

    asyncio.run(run())
    return kept, len(examples)


def test_the_examples_run_from_first_to_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def cached() -> list[StoredFile]:
        return [StoredFile("https://example.org/model.gguf", 3, 4, complete=False)]

    async def forget(url: str | None = None) -> int:
        return 1

    for name, stand_in in {"load": opened, "cached": cached, "forget": forget}.items():
        monkeypatch.setitem(vars(webxpu), name, stand_in)
    kept, count = run_examples(GUIDE)
    said = capsys.readouterr().out
    assert count == 12
    assert re.search(r"answer: (yes|no) because ", said)
    assert kept["again"].reused_tokens > 0
    assert kept["generation"].speculation.steps > 0
    assert kept["together"].finish_reasons == ["length", "length"]
    assert kept["rows"].shape == (len(kept["ids"]), kept["model"].config.vocab)
    assert "https://example.org/model.gguf 3 4 False" in said


def test_the_examples_of_the_tokenizers_page_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "tokenizer.model").write_bytes(trained()["bpe_bytes.model"])
    monkeypatch.chdir(tmp_path)
    kept, count = run_examples(TEXT_GUIDE)
    said = capsys.readouterr().out.splitlines()
    assert (count, kept["tokenizer"].vocab_size) == (3, 700)
    assert said == [f"{kept['ids']} the man said 700", "the 😀", "True", "3"]


def test_the_tokenizers_page_has_the_interface() -> None:
    table = TEXT_GUIDE.partition("## What both kinds answer")[2].partition("\n\nHalf a")[0]
    cells = [row.split(" | ")[0] for row in table.splitlines() if row.startswith("| `")]
    named = {re.match(r"\w+", name)[0] for cell in cells for name in re.findall(r"`([^`]+)`", cell)}  # type: ignore[index]
    interface = {name for name in vars(AnyTokenizer) if not name.startswith("_")}
    assert named == interface - {"strip_left"}  # `TextStream` asks for it
    assert sorted(
        re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| GGUF of kind (.*?) \|", TEXT_GUIDE, re.M)))
    ) == sorted((*MODEL_TYPES, *BPE_KINDS))


def test_the_tables_have_every_option_with_its_default() -> None:
    assert named(table("option of `load`")) == defaults(load)
    assert named(table("option")) == defaults(Sequence.generate)
    assert f"at most {MAX_MOST} |" in GUIDE
    assert sorted(row[0].strip("`") for row in table("architecture")) == models.architectures()
    assert [row[0].strip('`"') for row in table("`kv`")] == list(KV_TYPES)


@pytest.mark.parametrize("function", [load, Sequence.generate, Sampling, Dry])
def test_a_docstring_has_a_line_for_every_option(function: Callable[..., Any]) -> None:
    lines = (inspect.getdoc(function) or "").splitlines()
    told = {name for line in lines if re.match(r"\w", line) for name in re.split(r", | {2,}", line)}
    assert set(inspect.signature(function).parameters) - {"self"} <= told


def test_the_readme_has_every_architecture() -> None:
    [row] = re.findall(r"^\| models \| (.*) \|$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", row)) == models.architectures()


def test_what_is_decoded_together_has_the_options_that_the_guide_says() -> None:
    said = " ".join(GUIDE.split()).partition("Its options are ")[2].partition(", the same for all")[0]
    assert re.findall(r"`(\w+)`", said) == list(defaults(Model.generate_together))


@pytest.mark.parametrize(
    "name", ["README.md", *(f"docs/{page}.md" for page in ("models", "checkpoints", "tokenizers", "measuring"))]
)
def test_every_link_of_a_page_leads_somewhere(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    headings = {h.lower().replace(" ", "-") for h in re.findall(r"^#+ ([\w ]+)$", text, re.MULTILINE)}
    for link in re.findall(r"\]\(([^)]+)\)", text):
        file, _, heading = link.partition("#")
        assert not file or (ROOT / name).parent.joinpath(file).exists(), link
        assert file or heading in headings, link


def test_every_command_of_a_page_is_one() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    lines = [line for page in pages for line in page.read_text("utf-8").splitlines()]
    commands = [line for line in lines if re.match(r" *(\.venv/bin/)?webxpu \w", line)]
    assert len(commands) >= 8
    for command in commands:
        parsed(shlex.split(command, comments=True)[1:])
