"""Kernel files: their names, which variant a device gets, and the WGSL module that is compiled for it.

A file is `kernels/<op>/<entry>[.<target>][.<dtype>][.<feature>[+<feature>]].wgsl`. Its first line may name shared parts
(`// with: weights sincos`), and so may a part's; the module is the plain concatenation of those parts and the kernel.
The part `weights` is `kernels/_with/weights/<type>.wgsl`, chosen by the weight's type; `kv` and `kv_write` are
`kernels/_with/kv/<type>.wgsl` and `kernels/_with/kv_write/<type>.wgsl`, chosen by the cache's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from webxpu.data import data_folder
from webxpu.errors import KernelError, Unsupported
from webxpu.gpu.target import FEATURES, TARGETS, Gpu

DTYPES = ("f16",)
# Entries that plans ask for only on a device with the feature in their names: `kernel` serves the others.
FEATURED = frozenset({"staged"})
# Parts of which there is one a type, and what the type is of.
TYPED = {"weights": "a weight type", "kv": "a cache type", "kv_write": "a cache type"}
_FEATURE_SUFFIXES = tuple(sorted(set(FEATURES) - set(DTYPES)))


@dataclass(frozen=True)
class Variant:
    """One kernel file, read from its name."""

    name: str
    entry: str
    target: str | None = None
    dtype: str | None = None
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kernel:
    """The variant that was chosen for a dispatch, by which rung of the chain, and all names that were tried."""

    op: str
    variant: Variant
    weights: str | None = None
    rung: str = "portable"
    tried: tuple[str, ...] = ()
    kv: str | None = None

    @property
    def features(self) -> tuple[str, ...]:
        return self.variant.features

    @property
    def label(self) -> str:
        """`matvec/kernel.subgroups:q4_1`: what logs, profiles and error messages call it. A cache in float32 goes
        without saying."""
        parts = (self.weights, self.kv and f"kv-{self.kv}" if self.kv != "f32" else None)
        return f"{self.op}/{self.variant.name}" + "".join(f":{part}" for part in parts if part)


@dataclass(frozen=True)
class Module:
    """A WGSL module and where its lines come from: (file, first line in the module, number of lines)."""

    label: str
    code: str
    segments: tuple[tuple[str, int, int], ...]


def parse_variant(filename: str) -> Variant:
    """Reads a kernel's file name; an unknown or misplaced suffix is an error, so that no typing slip is ignored."""
    if not filename.endswith(".wgsl"):
        raise KernelError(f"kernel file {filename!r} must end in .wgsl")
    name = filename[: -len(".wgsl")]
    entry, *suffixes = name.split(".")
    if not entry:
        raise KernelError(f"kernel file {filename!r} has no entry name")
    if entry in TARGETS or entry in DTYPES or entry in _FEATURE_SUFFIXES:
        raise KernelError(f"kernel file {filename!r} is ambiguous: {entry!r} is a suffix, put the entry before it")
    target = suffixes.pop(0) if suffixes and suffixes[0] in TARGETS else None
    dtype = suffixes.pop(0) if suffixes and suffixes[0] in DTYPES else None
    features: tuple[str, ...] = ()
    if suffixes and set(suffixes[0].split("+")) <= set(_FEATURE_SUFFIXES):
        features = tuple(suffixes.pop(0).split("+"))
        if list(features) != sorted(set(features)):
            raise KernelError(
                f"kernel file {filename!r}: features must be sorted and named once, got {'+'.join(features)}"
            )
    if suffixes:
        raise KernelError(
            f"kernel file {filename!r}: {suffixes[0]!r} is no suffix in its place; the order is "
            f"entry[.target][.dtype][.features], targets {TARGETS}, dtypes {DTYPES}, features {_FEATURE_SUFFIXES}"
        )
    return Variant(name, entry, target, dtype, features)


@cache
def variants(op: str, root: Path | None = None) -> tuple[Variant, ...]:
    """All kernel files of an op, sorted by name. Every entry must have its portable `<entry>.wgsl`, but for
    those that need their feature anyway."""
    folder = (root or data_folder("kernels")) / op
    found = tuple(sorted((parse_variant(p.name) for p in folder.glob("*.wgsl")), key=lambda v: v.name))
    for variant in found:
        if variant.entry not in FEATURED and not any(v.name == variant.entry for v in found):
            raise KernelError(f"kernels/{op}: {variant.name}.wgsl has no portable {variant.entry}.wgsl beside it")
    return found


def has_entry(gpu: Gpu, variant: Variant) -> bool:
    """Whether a device gets a kernel for a variant's entry and dtype at all."""
    needs = {*filter(None, [variant.dtype]), *(variant.features if variant.entry in FEATURED else ())}
    return gpu.features.issuperset(needs)


def resolve(
    gpu: Gpu,
    op: str,
    entry: str = "kernel",
    *,
    dtype: str | None = None,
    weights: str | None = None,
    kv: str | None = None,
    root: Path | None = None,
) -> Kernel:
    """The kernel this device gets: an override, else the device's target, else portable; within a rung the variant with
    the most features that the device has (on a CPU adapter, the fewest).

    dtype is what the tensors hold, so only kernels of that dtype are looked at: the rungs are then target+dtype, dtype.

    Raises KernelError where nothing fits or an override names no such file, Unsupported where the device lacks the
    dtype.
    """
    if dtype is not None and dtype not in gpu.features:
        raise Unsupported(
            f"{op}: {dtype} tensors need the WebGPU feature {FEATURES[dtype][0]!r}, which this device lacks"
        )
    have = [v for v in variants(op, root) if v.entry == entry and v.dtype == dtype]
    if not have:
        names = sorted({".".join(filter(None, (v.entry, v.dtype))) for v in variants(op, root)})
        wanted = ".".join(filter(None, (entry, dtype)))
        raise KernelError(f"kernels/{op} has no entry {wanted!r}, only {names}")
    override = gpu.overrides.get(".".join(filter(None, (f"{op}/{entry}", dtype))))
    if override is not None:
        for variant in have:
            if variant.name == override:
                return Kernel(op, variant, weights, "override", (override,), kv)
        raise KernelError(f"kernels/{op} has no variant {override!r} of {entry!r}, only {[v.name for v in have]}")
    rungs = [("target", gpu.target)] if gpu.target is not None else []
    tried: list[str] = []
    for rung, target in [*rungs, ("portable", None)]:
        name = rung if dtype is None else "target+dtype" if target is not None else "dtype"
        tried.append(".".join(filter(None, (entry, target, dtype))))
        fits = [v for v in have if v.target == target and gpu.features.issuperset(v.features)]
        if fits:
            # A CPU adapter's subgroups are a few lanes, and what they save there is less than they cost.
            choose = min if gpu.target == "cpu" else max
            best = choose(fits, key=lambda v: (len(v.features), v.features))
            return Kernel(op, best, weights, name, tuple(tried), kv)
    raise KernelError(f"kernels/{op}: no variant of {entry!r} fits this device; tried {tried}")


@cache
def assemble(kernel: Kernel, root: Path | None = None) -> Module:
    """The kernel's module: its shared parts in the order named, each after the parts that it names, then the kernel."""
    base = root or data_folder("kernels")
    files: list[str] = []
    _collect(f"{kernel.op}/{kernel.variant.name}.wgsl", kernel, base, files)
    lines = [line for file in files for line in (base / file).read_text("utf-8").splitlines()]
    # Directives must stand before every declaration, so they move to the top of the module.
    directives = list(dict.fromkeys(filter(_is_directive, lines)))
    code, segments = "".join(f"{line}\n" for line in directives), []
    for file in files:
        body = (base / file).read_text("utf-8").splitlines()
        segments.append((file, code.count("\n") + 1, len(body)))
        code += "".join("\n" if _is_directive(line) else f"{line}\n" for line in body)
    return Module(kernel.label, code, tuple(segments))


def _is_directive(line: str) -> bool:
    return line.startswith(("enable ", "requires ", "diagnostic("))


def _collect(file: str, kernel: Kernel, base: Path, files: list[str]) -> None:
    """Appends the file after the parts that its first line names, each once."""
    first = (base / file).read_text("utf-8").partition("\n")[0]
    for part in first.removeprefix("// with:").split() if first.startswith("// with:") else []:
        name = _part_file(part, kernel)
        if name not in files:
            _collect(name, kernel, base, files)
    files.append(file)


def _part_file(part: str, kernel: Kernel) -> str:
    if part not in TYPED:
        return f"_with/{part}.wgsl"
    chosen = kernel.weights if part == "weights" else kernel.kv
    if chosen is None:
        raise KernelError(f"{kernel.op}/{kernel.variant.name}.wgsl:1 needs {TYPED[part]}, and its plan names none")
    return f"_with/{part}/{chosen}.wgsl"
