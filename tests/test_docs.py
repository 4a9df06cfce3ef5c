"""The pages of operations: generated, complete, with links that lead somewhere."""

import re
from pathlib import Path

import pytest

from docs.generate import FOLDER, argument_rows, kernel_text, members, pages, signature
from webxpu import ops
from webxpu.cases.case import gather_cases
from webxpu.gpu.kernels import variants
from webxpu.gpu.op import Op

ROOT = Path(__file__).parent.parent
PAGES = pages()
# The operations that the package promises.
NAMED = {
    "activation", "alibi", "attention", "axpy", "conv", "conv_transpose", "ctc_decode", "dequant_transpose",
    "dequantize", "elementwise", "flash_attention", "gather", "gqa", "group_norm", "layernorm", "matmul",
    "matvec", "mel", "moe", "pad", "permute", "pope", "quantize", "reduce", "rmsnorm", "rope", "scatter",
    "snake", "softmax", "stft", "transpose", "upsample",
}  # fmt: skip
# Modules that are half of one of them.
HALVES = {"istft": "stft"}


def test_the_operations_are_the_thirty_two_and_the_engines_own():
    assert len(NAMED) == 32
    assert set(members()) - set(ops.ENGINE) - set(HALVES) == NAMED
    assert set(ops.ENGINE) <= set(members())
    assert set(HALVES.values()) <= NAMED


def test_the_readme_counts_and_names_the_operations_and_the_engines_own_apart():
    text = (ROOT / "README.md").read_text("utf-8").partition("## Operations")[2].partition("\n## ")[0]
    table, engine = text.partition(" more modules are ")[::2]
    assert re.search(r"^(\d+) operations", text, re.MULTILINE)[1] == str(len(NAMED))
    named = re.findall(r"`(\w+)`", "".join(line for line in table.splitlines() if line.startswith("|")))
    assert sorted(named) == sorted(NAMED)
    assert int(table.split()[-1]) == len(ops.ENGINE)
    assert sorted(re.findall(r"`(\w+)`", engine.partition("\n\n")[0])) == sorted(ops.ENGINE)


@pytest.mark.parametrize("name", sorted({*PAGES, *(path.name for path in FOLDER.glob("*.md"))}))
def test_the_page_is_what_the_generator_makes(name):
    assert (FOLDER / name).is_file(), f"{name} is missing: run python docs/generate.py"
    assert (FOLDER / name).read_text("utf-8") == PAGES.get(name), f"{name} is stale: run python docs/generate.py"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_link_leads_to_a_file(name):
    links = re.findall(r"\]\(([^)#]+)\)", PAGES[name])
    assert links
    assert [link for link in links if not (FOLDER / link).exists()] == []


def test_a_function_that_is_named_leads_to_its_heading():
    links = {link for text in PAGES.values() for link in re.findall(r"\]\((\w+\.md)#(\w+)\)", text)}
    assert ("stft.md", "hann_window") in links
    assert [link for link in links if f"\n## {link[1]}\n" not in PAGES[link[0]]] == []


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_row_of_a_table_has_as_many_cells_as_its_head(name):
    width = None
    for line in PAGES[name].splitlines():
        if not line.startswith("|"):
            width = None
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        assert cells == (width or cells), line
        width = cells


def test_every_public_name_has_a_heading_and_every_kernel_a_row():
    for module, names in members().items():
        page = PAGES[f"{module}.md"]
        for name in names:
            assert f"\n## {name}\n" in page
        for variant in variants(module):
            assert f"/kernels/{module}/{variant.name}.wgsl)" in page
            assert kernel_text(module, variant), f"kernels/{module}/{variant.name}.wgsl begins with no comment"
    assert {name for names in members().values() for name in names} == set(ops.__all__)


def test_the_index_counts_every_case():
    rows = re.findall(r"^\| \[(\w+)\]\(\w+\.md\) .* \| (\d+) \|$", PAGES["index.md"], re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(members())
    assert sum(int(count) for _, count in rows) == len(gather_cases())


@pytest.mark.parametrize("name", sorted(name for name in ops.__all__ if isinstance(getattr(ops, name), Op)))
def test_every_operation_tells_what_it_returns_and_what_it_raises(name):
    text = getattr(ops, name).__doc__
    assert re.search(r"^ +returns? ", text, re.MULTILINE) or getattr(ops, name).writes, f"{name} tells no result"
    assert re.search(r"\bRaises\s", text), f"{name} does not tell what it raises"


def test_a_paragraph_of_arguments_is_read_with_its_continuations():
    lines = ["x        (B, D) float32,", "         or int32", "eps, b: numbers", "returns  x's shape"]
    assert argument_rows(lines) == [("x", "(B, D) float32, or int32"), ("eps, b", "numbers"), ("returns", "x's shape")]
    nested = ["state  (64,) uint32; its fields:", "       top_k        keeps k", "                    of them"]
    assert argument_rows(nested) == [("state", "(64,) uint32; its fields:\n`top_k` keeps k of them")]
    assert argument_rows(["Prose: it goes on", "and on."]) == []


def test_a_signature_has_names_and_defaults():
    assert signature("softmax", ops.softmax) == "softmax(x)"
    assert signature("rmsnorm", ops.rmsnorm).startswith("rmsnorm(x, weight, *, eps")
