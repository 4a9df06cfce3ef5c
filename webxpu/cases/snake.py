"""Cases of snake and snake_beta: channels and batches that do not come out even, frequencies from nothing to 500."""

from collections.abc import Callable
from functools import partial

import numpy as np

from webxpu.cases.case import F32, Case, Tolerance, wave

TOLERANCE = Tolerance(1e-5, 4e-6, "worst 9.5e-7 absolute and 1.6e-6 relative, on SwiftShader")
# alpha * x reaches 500, where float32 is 1.5e-5 off, and a beta of 0.2 divides that.
_DIVIDED = Tolerance(1e-5, 2e-4, "worst 7.6e-5 absolute, of alpha 50 and beta 0.2, on SwiftShader")
_ALPHAS = (0.01, 0.37, 1, 2.5, 10, 50, 0.8)
_BETAS = (3, 0.05, 0.5, 12, 1, 0.2, 7)  # all different from their alpha
SHAPES = [(1, 4, 7), (2, 3, 5), (1, 2, 128), (2, 5, 30), (3, 7, 13), (2, 9, 300), (3, 4, 80)]


def _arguments(*shape: int) -> tuple[F32, F32, F32]:
    n, c, length = shape
    alpha, beta = (np.resize(np.array(values, np.float32), c) for values in (_ALPHAS, _BETAS))
    return wave(n * c * length, 0.37, amp=10).reshape(shape), alpha, beta


def _plain(*shape: int) -> tuple[F32, F32]:
    return _arguments(*shape)[:2]


def _same(*shape: int) -> tuple[F32, F32, F32]:
    x, alpha = _plain(*shape)
    return x, alpha, alpha.copy()


def _two_channels(alpha: tuple[float, float], beta: tuple[float, float] | None = None) -> tuple[F32, ...]:
    x = ((np.arange(12) - 5.5) * 0.8).astype(np.float32).reshape(1, 2, 6)
    return (x, *(np.array(v, np.float32) for v in (alpha, beta) if v is not None))


def _tiny_alpha() -> tuple[F32, F32]:
    """Where alpha is as small as eps, and x as large as it takes to show: without eps the result would double."""
    x = np.array([[1e6, -1e6, 5e5, -5e5], [1, -1, 0.5, -0.5]], np.float32)[None]
    return x, np.array([1e-9, 3], np.float32)


def _cases(op: str, make: Callable[..., tuple[F32, ...]], tolerance: Tolerance) -> list[Case]:
    names = ["x".join(map(str, shape)) for shape in SHAPES]
    return [
        Case(op, name, partial(make, *shape), quick=shape == (3, 7, 13), tolerance=tolerance)
        for name, shape in zip(names, SHAPES)
    ]


CASES = [
    *_cases("snake", _plain, TOLERANCE),
    *_cases("snake_beta", _arguments, _DIVIDED),
    Case("snake", "alpha-zero", partial(_two_channels, (0, 1.5))),
    Case("snake", "tiny-alpha", _tiny_alpha),
    Case("snake", "no-samples", lambda: (np.zeros((0, 3, 8), np.float32), np.ones(3, np.float32))),
    Case("snake_beta", "beta-is-alpha", partial(_same, 2, 5, 30)),
    Case("snake_beta", "alpha-zero", partial(_two_channels, (0, 1.5), (2, 0.7))),
    Case("snake_beta", "beta-zero", partial(_two_channels, (0, 1.5), (2, 0))),
]
