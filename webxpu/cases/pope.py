"""Cases of pope: one position, widths about a workgroup's 64 columns, offsets."""

from webxpu.cases.case import Case, Tolerance

TOLERANCE = Tolerance(1e-5, 1e-5, "worst 9.5e-7 absolute at order 30, on SwiftShader; a GPU was 4.1e-6 off at order 70")
# Length, width, offset. Errors grow with the order.
SHAPES = [
    (1, 1, 0), (1, 1, 1), (4, 4, 0), (8, 32, 0), (16, 32, 1), (5, 17, 0), (24, 48, 7), (64, 16, 7), (3, 512, 2),
    (5, 9, 1), (2, 65, 3), (0, 4, 2),
]  # fmt: skip

CASES = [
    Case("pope", f"{n}x{d}-from-{first}", tuple, {"length": n, "width": d, "pos_offset": first}, quick=n == 24)
    for n, d, first in SHAPES
]
