"""Cases of conv_transpose1d and conv_transpose2d: lengths about a workgroup's, strides that share factors with the
dilation and such that do not, crops, tails, and tiles that do not come out even."""

from collections.abc import Callable
from functools import partial
from typing import Any

from webxpu.cases.case import Case, Tolerance
from webxpu.cases.conv import Arguments, arguments

TOLERANCE = Tolerance(1e-5, 1e-5, "worst 2.4e-6 absolute, of 36 terms in tiles, on SwiftShader")


def _make(x: tuple[int, ...], weight: tuple[int, ...], groups: int) -> Callable[[], Arguments]:
    return partial(arguments, x, weight, weight[1] * groups)


def _case(name: str, x: tuple[int, ...], weight: tuple[int, ...], quick: bool = False, **options: Any) -> Case:
    return Case(f"conv_transpose{len(x) - 2}d", name, _make(x, weight, options.get("groups", 1)), options, quick)


def _no_bias() -> Arguments:
    return (*arguments((2, 3, 9), (3, 5, 4), None)[:2], None)


_TILED: dict[str, Any] = {"stride": 3, "padding": 2, "output_padding": 1}
_PLANE: dict[str, Any] = {"stride": (2, 3), "padding": (1, 2), "output_padding": (1, 0), "dilation": (1, 2)}

CASES = [
    *(_case(f"length-{n}", (1, 3, n - 2), (3, 5, 3)) for n in (12, 256)),
    _case("length-255", (3, 2, 128), (2, 3, 7), quick=True, stride=2, padding=3, output_padding=1, dilation=1),
    _case("length-300", (2, 4, 149), (4, 3, 3), stride=2, padding=1, output_padding=1, dilation=2, groups=2),
    _case("depthwise", (1, 7, 775), (7, 1, 3), groups=7),
    _case("length-771", (1, 4, 257), (4, 2, 3), stride=3),
    _case("length-260", (2, 2, 65), (2, 3, 4), stride=4),
    _case("crop-dominates", (2, 2, 4), (2, 3, 6), padding=2),
    _case("dilation-past-both-ends", (1, 2, 5), (2, 3, 4), padding=7, dilation=6),
    _case("gaps", (1, 2, 9), (2, 3, 2), stride=5),
    _case("stride-shares-a-factor", (2, 2, 9), (2, 3, 4), stride=6, padding=2, output_padding=5, dilation=4),
    _case("stride-and-dilation", (2, 2, 9), (2, 3, 5), stride=3, padding=1, output_padding=(1,), dilation=4),
    Case("conv_transpose1d", "no-bias", _no_bias, {"stride": 2}),
    Case("conv_transpose1d", "no-samples", lambda: arguments((0, 3, 9), (3, 5, 2), 5)),
    _case("tile-2x71", (2, 12, 71), (12, 126, 7), quick=True, **_TILED),
    _case("tile-1x8", (1, 12, 8), (12, 126, 7), **_TILED),
    _case("tile-groups", (3, 8, 72), (8, 20, 4), stride=6, padding=2, output_padding=5, dilation=4, groups=2),
    _case("all-knobs", (2, 4, 5, 6), (4, 3, 3, 4), groups=2, **_PLANE),
    _case("doubling", (1, 3, 7, 9), (3, 5, 4, 4), quick=True, stride=2, padding=1),
    _case("tile", (2, 5, 7, 9), (5, 20, 3, 5), **_PLANE),
]  # fmt: skip
