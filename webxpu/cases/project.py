"""Cases of project and attend_project: one row and a few, which are fused, and more, which are composed."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import MANY_CASES, Case, Tolerance, block_weight, uniform

TOLERANCE = Tolerance(1e-5, 1e-5, "worst 2.2e-6 absolute at K = 1536 on SwiftShader, where a sum cancels")


def weight_of(type_name: str, n: int, k: int) -> Any:
    return uniform((n, k), seed=n) if type_name == "f32" else block_weight(type_name, (n, k), seed=n)


def _project(type_name: str, rows: int, n: int, k: int) -> tuple[Any, ...]:
    return weight_of(type_name, n, k), uniform((rows, k), 1), uniform((rows, n), 2, amp=3)


def _attend(type_name: str, rows: int, n: int, h: int, parts: int, d: int) -> tuple[Any, ...]:
    stats = np.stack([uniform((rows, h, parts), 1, amp=9), uniform((rows, h, parts), 2) + np.float32(1.5)], axis=-1)
    stats[:, h // 2, 1:] = [np.finfo(np.float32).min, 0]  # parts without keys
    acc = np.where(stats[..., 1:] == 0, np.float32(0), uniform((rows, h, parts, d), 3))
    return weight_of(type_name, n, h * d), acc, stats, uniform((rows, n), 4, amp=3)


def _no_keys() -> tuple[Any, ...]:
    weight, acc, stats, residual = _attend("q4_1", 1, 40, 2, 2, 32)
    acc[0, 1], stats[0, 1] = 0, [np.finfo(np.float32).min, 0]
    return weight, acc, stats, residual


def _alone(make: Any, *shape: Any) -> tuple[Any, ...]:
    """Without a residual."""
    return *make(*shape)[:-1], None


_TYPES = ("f32", *MANY_CASES)

CASES = [
    *(Case("project", f"{t}-65x96", partial(_project, t, 1, 65, 96)) for t in _TYPES),
    *(
        Case("project", f"{t}-{n}x{k}", partial(_project, t, 1, n, k), quick=k == 1536)
        for t, n, k in [("q4_1", 576, 1536), ("f32", 3, 36), ("f32", 1, 4), ("q8_0", 64, 2080), ("f16", 5, 44)]
    ),
    Case("project", "q1g128-65x384", partial(_project, "q1g128", 1, 65, 384)),
    Case("attend_project", "q8-65x3x4x20", partial(_attend, "q8", 1, 65, 3, 4, 20)),
    Case("project", "q5_0-65x96", partial(_project, "q5_0", 1, 65, 96)),
    Case("project", "q6_k-65x512", partial(_project, "q6_k", 1, 65, 512)),
    *(
        Case("project", f"q4_1-{n}-rows-alone", partial(_alone, _project, "q4_1", n, 65, 96)) for n in (1, 3, 10)
    ),
    *(
        Case("attend_project", f"q8_0-{n}-rows-alone", partial(_alone, _attend, "q8_0", n, 65, 3, 2, 32))
        for n in (1, 3, 10)
    ),
    *(Case("project", f"{t}-{n}-rows", partial(_project, t, n, 65, 96)) for t, n in [("q4_1", 2), ("f32", 9)]),
    Case("project", "q8_0-rows-of-2080", partial(_project, "q8_0", 5, 64, 2080)),
    *(Case("project", f"{t}-rows", partial(_project, t, 10, 33, 64)) for t in ("f32", "q4_0")),
    *(Case("attend_project", f"{t}-65x3x4x32", partial(_attend, t, 1, 65, 3, 4, 32)) for t in _TYPES),
    Case("attend_project", "q4_k-65x4x4x64", partial(_attend, "q4_k", 1, 65, 4, 4, 64)),
    *(
        Case("attend_project", f"{t}-{n}x{h}x{p}x{d}", partial(_attend, t, 1, n, h, p, d), quick=p == 8)
        for t, n, h, p, d in [
            ("q4_1", 576, 9, 8, 64), ("q8_0", 40, 2, 1, 128), ("f32", 7, 5, 3, 20), ("q4_0", 33, 4, 2, 16),
            ("f32", 12, 33, 2, 128),  # too wide for workgroup memory under WebGPU's least limits
        ]
    ),
    Case("attend_project", "no-keys", _no_keys),
    *(
        Case("attend_project", f"{n}-rows-of-{h}x{p}x{d}", partial(_attend, t, n, 65, h, p, d))
        for t, n, h, p, d in [("q4_1", 3, 2, 2, 32), ("f32", 9, 5, 3, 20), ("q8_0", 9, 20, 1, 128)]
    ),
    Case("attend_project", "rows", partial(_attend, "q4_1", 10, 33, 2, 2, 32)),
]  # fmt: skip
