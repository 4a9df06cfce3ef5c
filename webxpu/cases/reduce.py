"""Cases of reduce: values side by side and apart, few and many, no zero among what could stand for nothing."""

from functools import partial

import numpy as np

from webxpu.cases.case import F32, Case, Tolerance, wave
from webxpu.ops.reduce import KINDS

TOLERANCE = Tolerance(1e-5, 1e-6, "worst 2.8e-7 relative, on SwiftShader")
LOWEST = float(np.finfo(np.float32).min)


def _waves(*shape: int) -> tuple[F32]:
    """About 1.5: what adds up to nothing shows float32's rounding, not the kernel's."""
    return ((1.5 + wave(int(np.prod(shape)), 0.37, amp=2)).reshape(shape),)


def _all(value: float, *shape: int) -> tuple[F32]:
    return (np.full(shape, value, np.float32),)


def _last(*shape: int) -> tuple[F32]:
    """The largest and the smallest are the last ones of their lines."""
    (x,) = _waves(*shape)
    x[0, -1], x[1, -1] = 9, -9
    return (x,)


CASES = [
    *(
        Case("reduce", f"{'x'.join(map(str, shape))}-axis{axis}-{kind}", partial(_waves, *shape),
             {"axis": axis, "kind": kind}, quick=shape == (3, 300))
        for kind in KINDS
        for shape, axis in [
            ((2, 8), 1), ((1, 256), 1), ((3, 300), -1), ((1, 1000), 1), ((2, 300, 3), 1), ((3, 5, 7), 1), ((5, 65), 1),
            ((3, 16_385), 1), ((259, 6), 0),
        ]
    ),
    Case("reduce", "300x1000-axis0-sum", partial(_waves, 300, 1000), {"axis": 0, "kind": "sum"}, quick=True),
    Case("reduce", "300x1000-axis0-max", partial(_waves, 300, 1000), {"axis": -2, "kind": "max"}),
    Case("reduce", "one-axis", partial(_waves, 31), {"axis": 0, "kind": "mean"}),
    Case("reduce", "one-axis-64", partial(_waves, 64), {"axis": -1, "kind": "sum"}),
    Case("reduce", "all-negative-max", lambda: (_waves(3, 300)[0] - 9,), {"axis": 1, "kind": "max"}),
    Case("reduce", "all-positive-min", lambda: (_waves(3, 300)[0] + 9,), {"axis": 1, "kind": "min"}),
    Case("reduce", "lowest-max", partial(_all, LOWEST, 3, 300), {"axis": 1, "kind": "max"}),
    Case("reduce", "highest-min", partial(_all, -LOWEST, 3, 300), {"axis": 1, "kind": "min"}),
    Case("reduce", "lowest-max-few", partial(_all, LOWEST, 2, 8), {"axis": 1, "kind": "max"}),
    Case("reduce", "3x16385-last-max", partial(_last, 3, 16_385), {"axis": 1, "kind": "max"}),
    Case("reduce", "3x16385-last-min", partial(_last, 3, 16_385), {"axis": 1, "kind": "min"}),
    Case("reduce", "mean-of-four-ones", partial(_all, 1.0, 1, 4), {"axis": 1, "kind": "mean"}),
    Case("reduce", "empty-sum", partial(_waves, 2, 0, 3), {"axis": 1, "kind": "sum"}),
    Case("reduce", "no-outputs", partial(_waves, 2, 5, 0), {"axis": 1, "kind": "max"}),
]  # fmt: skip
