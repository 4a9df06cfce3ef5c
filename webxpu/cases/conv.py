"""Cases of conv1d, conv2d and conv3d: lengths about a workgroup's, padding wider than the input, groups, tiles of
channels (16 to 64), of positions (64) and of terms (32) that do not come out even."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import F32, Case, Tolerance, uniform

TOLERANCE = Tolerance(1e-5, 1e-5, "worst 3.8e-6 absolute, of 36 terms in tiles, on SwiftShader")

Arguments = tuple[F32, F32, F32 | None]


def arguments(x: tuple[int, ...], weight: tuple[int, ...], bias: int | None) -> Arguments:
    """x not around zero, a weight, and a bias that is zero nowhere, so that none is computed where none may be."""
    values = None if bias is None else 2 + uniform((bias,), seed=bias)
    return uniform(x, seed=x[-1], amp=1.5) + np.float32(0.25), uniform(weight, seed=len(weight)), values


def _make(x: tuple[int, ...], weight: tuple[int, ...]) -> Callable[[], Arguments]:
    return partial(arguments, x, weight, weight[0])


def _case(name: str, x: tuple[int, ...], weight: tuple[int, ...], quick: bool = False, **options: Any) -> Case:
    return Case(f"conv{len(x) - 2}d", name, _make(x, weight), options, quick)


def _empty_batch() -> Arguments:
    return arguments((0, 3, 9), (5, 3, 2), 5)


_PLANE: dict[str, Any] = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)}
_DEPTH: dict[str, Any] = {"stride": (1, 2, 1), "padding": (2, 1, 0), "dilation": (1, 1, 2)}

CASES = [
    *(_case(f"length-{n}", (2, 3, n + 1), (5, 3, 2), quick=n == 300) for n in (1, 8, 255, 256, 300)),
    _case("all-knobs", (2, 4, 602), (6, 2, 3), stride=2, padding=1, dilation=2, groups=2),
    _case("depthwise", (1, 7, 777), (7, 1, 3), padding=1, groups=7),
    _case("depthwise-doubled", (2, 3, 40), (6, 1, 5), padding=(4,), dilation=2, groups=3),
    _case("padding-dominates", (2, 2, 4), (3, 2, 3), padding=2),
    _case("dilation-past-the-end", (1, 2, 20), (3, 2, 4), padding=6, dilation=4),
    _case("samples-of-whole-pages", (3, 4, 64), (5, 4, 3), padding=1),  # 256 bytes: they can be bound in parts
    _case("kernel-as-wide-as-x", (3, 4, 5), (2, 4, 5)),
    _case("stride-past-the-kernel", (1, 2, 50), (3, 2, 2), stride=7),
    Case("conv1d", "no-bias", lambda: (*arguments((2, 3, 9), (5, 3, 2), 5)[:2], None)),
    Case("conv1d", "no-samples", _empty_batch),
    *(
        _case(f"tile-{n}x{length}", (n, 12, length), (126, 12, 3), quick=length == 131, stride=2, padding=1)
        for n, length in [(2, 131), (1, 256), (3, 9)]
    ),
    _case("tile-groups", (3, 8, 72), (40, 4, 3), padding=2, dilation=2, groups=2),
    _case("tile-one-term", (1, 1, 70), (9, 1, 1)),
    _case("all-knobs", (1, 4, 5, 6), (6, 2, 3, 2), groups=2, **_PLANE),
    _case("square", (2, 3, 9, 17), (4, 3, 3, 3), quick=True, stride=2, padding=1),
    _case("tile", (2, 5, 11, 13), (20, 5, 3, 2), **_PLANE),
    Case("conv2d", "tile-no-bias", lambda: (*arguments((1, 3, 7, 9), (16, 3, 4, 4), 16)[:2], None), {"stride": 4}),
    _case("all-knobs", (1, 2, 4, 3, 5), (3, 2, 3, 2, 2), quick=True, **_DEPTH),
    _case("groups", (2, 4, 3, 4, 5), (6, 2, 2, 3, 1), stride=(2, 1, 3), padding=(0, 2, 1), dilation=2, groups=2),
    _case("tile", (2, 3, 4, 5, 6), (10, 3, 2, 3, 2), **_DEPTH),
]  # fmt: skip
