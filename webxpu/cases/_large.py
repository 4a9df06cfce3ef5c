"""Large cases: more rows than a grid is wide, rows longer than a workgroup takes at once, 16,776,961 elements, weights
over WebGPU's least binding. The GPU makes its arrays itself; rows from everywhere are compared with the NumPy body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu import ops
from webxpu.cases._fill import Fill
from webxpu.cases.case import EXACT, Tolerance, hashed, tolerance_of
from webxpu.gpu.op import Op

Arrays = tuple[NDArray[Any], ...]
# One more than 65,535 workgroups of 256: the least count that no line of such workgroups covers.
PAST_A_LINE = 65_535 * 256 + 1
# More than the 65,535 workgroups that a grid is wide; and the length of a long row.
MANY = 70_000
# A float32 weight of (VOCAB, WIDTH) is 151 MB: more than the 134 MB that every device can bind.
VOCAB, WIDTH = 49_152, 768


@dataclass(frozen=True)
class Large:
    """One call of an op whose outputs are made of `rows` independent rows.

    args       arrays, and `Fill`s in place of large ones
    reference  (first, stop) -> the rows of each output, in float32 or as integers
    """

    op: Op
    name: str
    args: tuple[Any, ...]
    rows: int
    reference: Callable[[int, int], Arrays]
    kwargs: Mapping[str, Any]
    tolerance: Tolerance

    def __str__(self) -> str:
        return f"{self.op.name}-{self.name}"

    def samples(self, count: int = 24) -> list[tuple[int, int]]:
        """Runs of up to four rows: the ends, the rows about 65,535, and some from everywhere."""
        starts = {0, max(self.rows - 4, 0), *(int(h) % self.rows for h in hashed(count, self.rows))}
        if self.rows > 65_535:
            starts.add(65_533)
        return [(start, min(start + 4, self.rows)) for start in sorted(starts)]


def _by_rows(op: Op, args: tuple[Any, ...], sliced: tuple[int, ...], kwargs: Mapping[str, Any]) -> Any:
    """The reference of an op each of whose rows depends on the same row of the arguments named in `sliced` alone."""

    def reference(first: int, stop: int) -> Arrays:
        parts = [_part(a, first, stop) if i in sliced else _whole(a) for i, a in enumerate(args)]
        found = op(*parts, **kwargs)
        return found if isinstance(found, tuple) else (found,)

    return reference


def _part(value: Any, first: int, stop: int) -> Any:
    return value.rows(first, stop) if isinstance(value, Fill) else value[first:stop]


def _whole(value: Any) -> Any:
    return value.rows(0, value.shape[0]) if isinstance(value, Fill) else value


def large(op: Op, name: str, *args: Any, sliced: tuple[int, ...] = (0,), **kwargs: Any) -> Large:
    """A case of an op that computes row by row; `sliced` are the arguments that have its rows."""
    rows = args[sliced[0]].shape[0]
    return Large(op, name, args, rows, _by_rows(op, args, sliced, kwargs), kwargs, tolerance_of(op.body.__module__))


def whole(op: Op, name: str, *args: Any, rows: int, tolerance: Tolerance | None = None, **kwargs: Any) -> Large:
    """A case whose reference is computed whole, when its first rows are asked for. tolerance: None is the op's own."""

    @cache
    def results() -> Arrays:
        found = op(*map(_whole, args), **kwargs)
        return found if isinstance(found, tuple) else (found,)

    def reference(first: int, stop: int) -> Arrays:
        return tuple(found.reshape(rows, -1)[first:stop] for found in results())

    return Large(op, name, args, rows, reference, kwargs, tolerance or tolerance_of(op.body.__module__))


def _gather(table: Fill, indices: NDArray[np.int32]) -> Large:
    def reference(first: int, stop: int) -> Arrays:
        rows = [
            table.rows(i, i + 1) if 0 <= i < table.shape[0] else np.zeros((1, table.shape[1]), np.float32)
            for i in indices[first:stop].tolist()
        ]
        return (np.concatenate(rows),)

    return Large(ops.gather, "151-MB-table", (table, indices), len(indices), reference, {}, EXACT)


def _linear(x: Fill, weight: Fill) -> Large:
    def reference(first: int, stop: int) -> Arrays:
        rows, features = np.divmod(np.arange(first, stop), weight.shape[0])
        pairs = zip(rows.tolist(), features.tolist(), strict=True)
        return (np.concatenate([ops.linear(x.rows(r, r + 1), weight.rows(f, f + 1))[0] for r, f in pairs]),)

    outputs = x.shape[0] * weight.shape[0]
    return Large(ops.linear, "151-MB-weight", (x, weight), outputs, reference, {}, tolerance_of("webxpu.ops.matmul"))


_WEIGHT = Fill((VOCAB, WIDTH), 11)
_WORDS = Fill((VOCAB, WIDTH), 12, dtype="uint32")
_SCALES = Fill((VOCAB,), 13)
_LINE = Fill((PAST_A_LINE,), 1, 4.0)
_POSITIONS = np.arange(MANY, dtype=np.int32)
_EXPERTS = (hashed(2 * MANY, 3) % 4).astype(np.int32).reshape(MANY, 2)
_SEATS = (hashed(2 * MANY, 4) % 5).astype(np.int32).reshape(MANY, 2) - 1
_SIGNAL = Fill((4 * (MANY - 1) + 8,), 14)
# Each case of stft and istft has its own tolerance, by n_fft; here that is 8.
_AUDIO = Tolerance(1e-5, 1.6e-6, "2e-7 n_fft, as the other cases of stft")
_WINDOW = np.array([0.1, 0.4, 0.8, 1, 0.9, 0.6, 0.3, 0.2], np.float32)

LARGE = [
    large(ops.activation, "16776961-elements", _LINE, kind="gelu"),
    large(ops.axpy, "16776961-elements", _LINE, Fill((PAST_A_LINE,), 2), sliced=(0, 1), a=0.5),
    large(ops.elementwise, "16776961-elements", _LINE, Fill((PAST_A_LINE,), 2), sliced=(0, 1), kind="multiply"),
    large(ops.elementwise, "160-MB", Fill((40_000_000,), 3), Fill((40_000_000,), 4), sliced=(0, 1), kind="add"),
    large(ops.elementwise_rows, "70000-rows", Fill((MANY, 9), 5), Fill((9,), 6), kind="add"),
    whole(ops.reduce, "16776961-elements", _LINE, rows=1, axis=0, kind="max"),
    large(ops.reduce, "70000-rows", Fill((MANY, 9), 5), axis=1, kind="sum"),
    whole(ops.reduce, "70000-rows-down", Fill((MANY, 9), 5), rows=9, axis=0, kind="mean"),
    large(ops.softmax, "70000-rows", Fill((MANY, 5), 7, 4.0)),
    large(ops.softmax, "rows-of-70000", Fill((2, MANY), 8, 4.0)),
    large(ops.rmsnorm, "70000-rows", Fill((MANY, 8), 9), Fill((8,), 10), eps=1e-5),
    large(ops.rmsnorm, "rows-of-70000", Fill((2, MANY), 11), Fill((MANY,), 12), eps=1e-5),
    large(ops.layernorm, "70000-rows", Fill((MANY, 8), 9), Fill((8,), 10), Fill((8,), 11), eps=1e-5),
    large(ops.layernorm, "rows-of-70000", Fill((2, MANY), 9), Fill((MANY,), 10), Fill((MANY,), 11), eps=1e-5),
    large(ops.group_norm, "70000-samples", Fill((MANY, 2, 3), 9), Fill((2,), 10), Fill((2,), 11), groups=1, eps=1e-5),
    large(
        ops.group_norm, "a-group-of-210000", Fill((2, 3, MANY), 9), Fill((3,), 10), Fill((3,), 11), groups=1, eps=1e-5
    ),
    large(ops.quantize, "70000-rows", Fill((MANY, 8), 12)),
    whole(ops.transpose, "70000-rows", Fill((MANY, 20), 13), rows=20 * MANY),
    whole(ops.transpose, "70000-columns", Fill((20, MANY), 13), rows=20 * MANY),
    whole(ops.permute, "70000-rows", Fill((MANY, 2, 3), 14), rows=2 * MANY, dims=(1, 0, 2)),
    large(ops.pad, "70000-rows", Fill((MANY, 5), 15), axis=1, before=2, after=1, mode="reflect"),
    large(ops.nearest_upsample_2d, "70000-planes", Fill((MANY, 1, 2, 2), 16), out_h=3, out_w=5),
    large(ops.scatter, "70000-rows", Fill((MANY, 2), 17), _EXPERTS, sliced=(0, 1), width=4),
    whole(
        ops.dequant_transpose,
        "70000-rows",
        Fill((MANY, 2), 18, dtype="uint32"),
        Fill((MANY,), 19),
        rows=8 * MANY,
        in_features=8,
    ),
    large(ops.matvec, "151-MB-weight", _WEIGHT, Fill((WIDTH,), 13)),
    large(ops.matvec_q8, "151-MB-weight", _WORDS, _SCALES, Fill((4 * WIDTH,), 14), sliced=(0, 1)),
    large(ops.matvec_q4g128, "151-MB-weight", _WORDS, Fill((VOCAB, 48), 15), Fill((8 * WIDTH,), 16), sliced=(0, 1)),
    _linear(Fill((3, WIDTH), 17), _WEIGHT),
    _gather(_WEIGHT, np.array([0, VOCAB - 1, -1, 43_689, 43_690, 43_691, VOCAB, 7, 65_536], np.int32)),
    large(ops.conv1d, "70000-samples", Fill((MANY, 1, 8), 20), Fill((2, 1, 3), 21), Fill((2,), 22), padding=1),
    whole(ops.conv1d, "a-line-of-200000", Fill((1, 2, 200_000), 20), Fill((3, 2, 5), 21), rows=3 * 199_996),
    large(ops.conv2d, "70000-samples", Fill((MANY, 1, 3, 3), 20), Fill((1, 1, 2, 2), 21)),
    large(ops.conv_transpose1d, "70000-samples", Fill((MANY, 1, 4), 20), Fill((1, 1, 3), 21), stride=2),
    large(ops.snake, "70000-samples", Fill((MANY, 2, 3), 23, 8.0), Fill((2,), 24, 2.0)),
    whole(ops.stft, "70000-frames", _SIGNAL, _WINDOW, rows=MANY, tolerance=_AUDIO, n_fft=8, hop_length=4, center=False),
    whole(
        ops.istft,
        "70000-frames",
        Fill((MANY, 5), 25),
        Fill((MANY, 5), 26),
        _WINDOW,
        rows=4 * (MANY - 1),
        n_fft=8,
        hop_length=4,
    ),
    large(
        ops.mel_spectrogram,
        "70000-frames",
        Fill((MANY, 5), 25),
        Fill((MANY, 5), 26),
        np.eye(3, 5, dtype=np.float32),
        sliced=(0, 1),
    ),
    large(ops.ctc_decode, "70000-sequences", Fill((MANY, 3, 4), 27)),
    large(ops.attention, "70000-heads", *(Fill((MANY, 1, n, 4), 28 + n) for n in (1, 3, 3)), sliced=(0, 1, 2)),
    whole(ops.attention, "70000-keys", *(Fill((1, 1, n, 8), 31) for n in (2, MANY, MANY)), rows=2),
    large(ops.flash_attention, "70000-heads", *(Fill((MANY, 1, n, 4), 28 + n) for n in (1, 3, 3)), sliced=(0, 1, 2)),
    whole(ops.flash_attention, "70000-keys", *(Fill((1, 1, n, 8), 31) for n in (2, MANY, MANY)), rows=2),
    large(ops.router, "70000-tokens", Fill((MANY, 4), 32, 4.0), k=2, normalize=True),
    whole(ops.moe_dispatch, "70000-tokens", Fill((MANY, 3), 33), _EXPERTS, rows=1, experts=4, capacity=MANY),
    large(ops.moe_gather, "70000-tokens", Fill((4, 4, 3), 34), _EXPERTS, _SEATS, Fill((MANY, 2), 35), sliced=(1, 2, 3)),
    large(ops.rope, "70000-rows", Fill((MANY, 1, 4), 36), _POSITIONS % 1000, sliced=(0, 1), pairs="half", base=1e4),
]
