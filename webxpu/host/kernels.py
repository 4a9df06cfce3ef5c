"""`webxpu kernels export`: every kernel as the complete WGSL module that a device would compile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from webxpu.data import data_folder
from webxpu.gpu.kernels import Kernel, Module, assemble, variants


def modules() -> Iterator[tuple[str, Module]]:
    """Each assembled module with its file name: a variant, once a weight type where it reads weights."""
    root = data_folder("kernels")
    types = sorted(path.stem for path in (root / "_with" / "weights").glob("*.wgsl"))
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("_")):
        for variant in variants(folder.name):
            first = (folder / f"{variant.name}.wgsl").read_text("utf-8").partition("\n")[0]
            reads_weights = first.startswith("// with:") and "weights" in first.split()
            for weights in types if reads_weights else [None]:
                name = f"{folder.name}/{variant.name}" + (f".{weights}" if weights else "")
                yield f"{name}.wgsl", assemble(Kernel(folder.name, variant, weights))


def export(folder: Path) -> int:
    """Writes every module below a folder; returns how many."""
    count = 0
    for name, module in modules():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(module.code, "utf-8")
        count += 1
    return count
