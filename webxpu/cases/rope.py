"""Cases of rope and rope_axes: both pairings, by a table and by computed angles, each scaling, ranges of heads,
positions out of order, far, negative and between whole numbers."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import F32, Case, Tolerance, wave
from webxpu.ops.rope import NtkScaling, YarnScaling, rope_table

TOLERANCE = Tolerance(
    1e-5, 3e-6, "worst 1.1e-6 absolute of values up to 8, on SwiftShader, and no more at position 2^31 than at 3"
)
_YARN = YarnScaling(8, 64)
# At base 1e4 and D = 128 pairs 0 to 15 keep their speed and those from 41 on have all of the slowing down.
_LLAMA2 = YarnScaling(8, 2048)


def _x(length: int, h: int, d: int) -> F32:
    """Nowhere zero, so that a head that is forgotten shows."""
    return wave(length * h * d, 0.31, 0.2, 2).reshape(length, h, d) + np.float32(3)


def _rows(positions: list[int], h: int, d: int, table: int, base: float = 1e4, gain: float = 1) -> tuple[Any, ...]:
    turns = rope_table(table, d, base=base) * np.float32(gain)
    return _x(len(positions), h, d), np.array(positions, np.int32), turns


def _computed(positions: Iterable[Any], h: int, d: int) -> tuple[F32, NDArray[Any]]:
    places = np.array(list(positions))
    return _x(len(places), h, d), places.astype(np.int32 if places.dtype.kind == "i" else np.float32)


def _angles(
    name: str, positions: Iterable[float], h: int, d: int, *, pairs: str = "adjacent", base: float = 1e4, **kwargs: Any
) -> Case:
    quick = kwargs.pop("quick", False)
    make = partial(_computed, list(positions), h, d)
    return Case("rope", name, make, {"pairs": pairs, "base": base, **kwargs}, quick=quick)


def _axes(name: str, positions: list[list[float]], axes_dims: tuple[int, ...], h: int, quick: bool = False) -> Case:
    kwargs = {"axes_dims": axes_dims, "base": 256.0}
    return Case("rope_axes", name, partial(_computed, positions, h, sum(axes_dims)), kwargs, quick=quick)


CASES = [
    *(
        Case("rope", f"{pairs}-{name}", make, {"pairs": pairs}, quick=name == "3x4x16")
        for pairs in ("adjacent", "half")
        for name, make in [
            ("3x4x16", lambda: _rows([5, 0, 9], 4, 16, 10)),
            ("one-row", lambda: _rows([3], 9, 64, 4, 5e5)),
            ("one-pair", lambda: _rows([1, 2, 0], 1, 2, 3)),
            ("7x8x64", lambda: _rows([6, 1, 4, 2, 0, 5, 3], 8, 64, 7)),
            ("40x4x64", lambda: _rows([(17 * i) % 40 for i in range(40)], 4, 64, 40)),
            ("far", lambda: _rows([6000, 4095, 5999], 2, 128, 6001)),
        ]
    ),
    Case("rope", "no-rows", lambda: _rows([], 2, 8, 4), {"pairs": "half"}),
    Case("rope", "halved-table", lambda: _rows([5, 0, 9], 4, 16, 10, gain=0.5), {"pairs": "half"}),
    *(
        Case("rope", f"heads-{name}", lambda: _rows([5, 0, 9], 4, 16, 10), {"pairs": "half", **heads})
        for name, heads in [
            ("2-and-3", {"head_offset": 1, "head_count": 2}),
            ("from-3", {"head_offset": 2}),
            ("none", {"head_offset": 4, "head_count": 0}),
        ]
    ),
    _angles("from-0", range(3), 4, 16, quick=True),
    _angles("from-7", range(7, 10), 4, 16),
    _angles("beyond-context", range(200, 209), 8, 16),
    _angles("ntk", range(200, 209), 8, 16, scaling=NtkScaling(8)),
    _angles("yarn", range(200, 209), 8, 16, scaling=_YARN, quick=True),
    _angles("yarn-ramp-of-no-length", range(200, 209), 8, 16, scaling=YarnScaling(8, 6)),
    _angles("yarn-ramp-below-the-pairs", range(200, 209), 8, 16, scaling=YarnScaling(8, 1)),
    _angles("yarn-ramp-above-the-pairs", range(200, 209), 8, 16, base=1.5, scaling=YarnScaling(8, 10_000)),
    _angles("yarn-heads", range(200, 209), 8, 16, scaling=_YARN, head_count=4),
    _angles("yarn-far", range(6000, 6003), 2, 128, scaling=_LLAMA2),
    _angles("computed-far", [6000, 100_000, 131_071], 2, 128, pairs="half", base=5e5),
    _angles("computed-farthest", [2**31 - 1, -(2**31), 1 - 2**31], 2, 128),
    _angles("negative", [-1, -200, 0], 4, 16),
    _angles("fractional", [0.5, -3.25, 1e-3, 6000.125, 0.0, -0.9999999], 4, 16),
    _angles("computed-one-pair", range(4), 17, 2),
    _angles("9-heads", [3, 1], 9, 64, pairs="half"),
    _angles("30x9x64", range(30), 9, 64, pairs="half"),
    _angles("computed-heads", [3, 1], 9, 64, pairs="half", head_offset=3, head_count=4),
    _angles("computed-no-rows", np.zeros(0, np.int32), 2, 8),
    _axes("three", [[1, 2, 3], [0, -1, 5]], (2, 4, 2), 1, quick=True),
    _axes("whole", [[1, 2, 3], [0, -1, 5]], (2, 4, 2), 3),
    _axes("fractional", [[0.5, -6.2, 31.25], [-0.125, 3.5, 1000.75]], (32, 48, 48), 9),
    _axes("one", [[200.0], [-3.5]], (16,), 4),
]
