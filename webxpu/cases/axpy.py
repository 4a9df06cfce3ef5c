"""Cases of axpy and axpy_inplace: over a few workgroups, every sign of a."""

from functools import partial

from webxpu.cases.case import F32, Case, Tolerance, wave

TOLERANCE = Tolerance(1.2e-7, 1e-6, "worst 4.8e-7 absolute, where a * x is rounded by itself, on SwiftShader")
_FACTORS = {"tenth": 0.1, "negative": -1.75, "zero": 0.0}


def _pair(*shape: int) -> tuple[F32, F32]:
    n = 1
    for size in shape:
        n *= size
    return wave(n, 0.37).reshape(shape), wave(n, 0.19, 0.4).reshape(shape)


CASES = [
    *(
        Case(op, f"{name}-300", partial(_pair, 300), {"a": a}, quick=name == "tenth")
        for op in ("axpy", "axpy_inplace")
        for name, a in _FACTORS.items()
    ),
    *(Case(op, "4097", partial(_pair, 4097), {"a": 0.1}) for op in ("axpy", "axpy_inplace")),
    *(Case(op, "three-axes", partial(_pair, 2, 3, 5), {"a": 0.1}) for op in ("axpy", "axpy_inplace")),
    Case("axpy", "empty", partial(_pair, 0), {"a": 0.1}),
]
