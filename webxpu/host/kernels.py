"""`webxpu kernels export`: every kernel as the complete WGSL module that a device would compile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from webxpu.data import data_folder
from webxpu.gpu.kernels import Kernel, Module, assemble, variants
from webxpu.ops.norm_qkv import PAIR_TYPES
from webxpu.quant.kv import KV_TYPES

# Ops whose kernels leave binding 3 to the scales of a weight that comes in two arrays.
_APART = ("matvec", "matmul")


def modules() -> Iterator[tuple[str, Module]]:
    """Each assembled module with its file name: a variant, once a weight type where it reads weights and once a cache
    type where it reads or writes a cache."""
    root = data_folder("kernels")
    types = weight_parts()
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("_")):
        for variant in variants(folder.name):
            first = (folder / f"{variant.name}.wgsl").read_text("utf-8").partition("\n")[0]
            parts = first.split() if first.startswith("// with:") else []
            fitting = [t for t in types if "/" not in t or folder.name in _APART]
            for weights in fitting if "weights" in parts else [None]:
                for kv in _kv_types(parts):
                    names = filter(None, (f"{folder.name}/{variant.name}", weights and weights.replace("/", "."), kv))
                    yield f"{'.'.join(names)}.wgsl", assemble(Kernel(folder.name, variant, weights, kv=kv))


def _kv_types(parts: list[str]) -> list[str | None]:
    """The cache types of a kernel with these parts. One that computes pairs cannot store a block."""
    if not {"kv", "kv_write"} & set(parts):
        return [None]
    return [kv for kv in KV_TYPES if "qkv" not in parts or kv in PAIR_TYPES]


def weight_parts() -> list[str]:
    """The parts that `weights` may stand for; `apart/` are those of a weight in two arrays."""
    folder = data_folder("kernels") / "_with" / "weights"
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.wgsl"))


def export(folder: Path) -> int:
    """Writes every module below a folder; returns how many."""
    count = 0
    for name, module in modules():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(module.code, "utf-8")
        count += 1
    return count
