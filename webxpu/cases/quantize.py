"""Cases of quantize: waves, ties that go up, ties that float64 falls beside, rows of zeros and of the least floats."""

from functools import partial

import numpy as np

from webxpu.cases.case import F32, Case, Tolerance, hashed, wave

TOLERANCE = Tolerance(
    4e-7,
    1.2e-38,
    "worst 1.2e-7 relative on SwiftShader, WGSL allows 3e-7; a scale below the least normal float may be 0",
)


def _rows(*shape: int) -> tuple[F32]:
    return (wave(int(np.prod(shape)), 0.41, amp=2).reshape(shape),)


def _row(*values: float, width: int = 64) -> tuple[F32]:
    x = np.zeros((1, width), np.float32)
    x[0, : len(values)] = values
    return (x,)


def _ties() -> tuple[F32]:
    """x / a is an odd number over 254, so v lies on a tie: 127 / a is rounded up in some rows and down in others."""
    # 254 times a factor is exact in float32; the last ones give significands past 127 * 2^17, where 127 / a is below 1.
    factor = np.concatenate([1 + hashed(40, seed=3) % 65_000, 65_600 + 45 * np.arange(10)]).astype(np.int64)
    odd = 2 * np.arange(-127, 127) + 1
    rows = np.concatenate([odd, [254], np.zeros(45, np.int64)]) * factor[:, None]
    return ((rows * 2.0 ** np.arange(-20, 30)[:, None]).astype(np.float32),)


def _near_ties() -> tuple[F32]:
    """The float32 beside a tie, further from zero and nearer to it in turn."""
    (x,) = _ties()
    # Columns 126 and 127 hold -1 / 2 and 1 / 2, where the next float32 still rounds to the tie if digits are dropped.
    step = np.where(np.arange(300) % 4 >= 2, x * 2, np.float32(0))
    return (np.where(np.arange(300) == 254, x, np.nextafter(x, step)),)


def _zero_rows() -> tuple[F32]:
    (x,) = _rows(4, 64)
    x[1], x[3] = 0, -0.0
    return (x,)


def _small_and_large() -> tuple[F32]:
    """Subnormals, the least and the largest floats; no scale but that of the first rows is a subnormal."""
    x = wave(5 * 64, 0.41, amp=1).reshape(5, 64) * np.array([[1e-42], [1e-39], [1e-35], [1e30], [3e38]])
    return (x.astype(np.float32),)


def _small_beside_large() -> tuple[F32]:
    """In each row a magnitude, then ones far below it: 2^-1, 2^-2 and so on to subnormals, of both signs."""
    powers = np.ldexp(np.float64(1.0), -np.arange(64)) * np.where(np.arange(64) % 2, -1, 1)
    return ((np.array([[1.0], [2.0**-100], [2.0**-126], [2.0**-130]]) * powers).astype(np.float32),)


CASES = [
    *(
        Case("quantize", f"{n}x{d}", partial(_rows, n, d), quick=d == 300)
        for n, d in [(1, 64), (2, 300), (7, 64), (2, 1500)]
    ),
    Case("quantize", "three-axes", partial(_rows, 2, 3, 64)),
    Case("quantize", "one-row", partial(_rows, 64)),
    Case("quantize", "one-column", partial(_rows, 3, 1)),
    Case("quantize", "ties-up", partial(_row, 127, 62.5, -62.5, 0, -0.5, 0.5, 1.5, -1.5), quick=True),
    Case(
        "quantize",
        "double-rounding-band",
        partial(_row, 1.3530999422073364, 0.005327165126800537, -0.005327165126800537),
    ),
    Case("quantize", "ties", _ties, quick=True),
    Case("quantize", "near-ties", _near_ties),
    Case("quantize", "zero-rows", _zero_rows),
    Case("quantize", "small-and-large", _small_and_large),
    Case("quantize", "small-beside-large", _small_beside_large),
    Case("quantize", "no-rows", partial(_rows, 0, 64)),
]
