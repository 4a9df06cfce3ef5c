"""Mutants of axpy and axpy_inplace."""

from tests.mutation import Mutant

KERNEL = "kernels/axpy/kernel.wgsl"
INPLACE = "kernels/axpy/inplace.wgsl"
OP = "webxpu/ops/axpy.py"
TEST = "tests/ops/test_axpy.py"
ONCE = f"{TEST}::test_the_sum_is_rounded_once"
# WGSL lets a device do as it likes there.
PAST_THE_END = "where a device takes the last words instead, they are each other's"

MUTANTS = [
    Mutant(KERNEL, "fma(A, x[i], y[i])", "fma(A, y[i], x[i])", "axpy-tenth-300", "x is multiplied"),
    Mutant(INPLACE, "fma(A, x[i], out[i])", "fma(A, out[i], x[i])", "axpy_inplace-tenth-300", "x is multiplied"),
    Mutant(OP, "float(np.float32(a)) * x.astype(np.float64)", "np.float32(a) * x", ONCE, "rounded once"),
    Mutant(OP, "float(np.float32(a)) *", "float(a) *", ONCE, "a is a float32"),
    Mutant(OP, "y[...] = _sum", "y = _sum", f"{TEST}::test_in_place_changes_y_and_returns_nothing", "y is changed"),
    Mutant(OP, "check(y == x,", "check(True,", f"{TEST}::test_what_does_not_fit_is_named", "equal shapes"),
    Mutant(
        OP,
        "check(abs(a) <=",
        "check(True or abs(a) <=",
        f"{TEST}::test_what_does_not_fit_is_named",
        "a factor that no float32 holds",
    ),
]
