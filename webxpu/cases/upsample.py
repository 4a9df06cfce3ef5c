"""Cases of nearest_upsample_2d: sizes where whole numbers would pick other rows, unequal factors, several planes."""

from functools import partial

from webxpu.cases.case import EXACT, Case, words

TOLERANCE = EXACT


def _case(shape: tuple[int, ...], out_h: int, out_w: int, quick: bool = False) -> Case:
    name = "x".join(map(str, shape)) + f"-to-{out_h}x{out_w}"
    return Case("nearest_upsample_2d", name, partial(words, *shape), {"out_h": out_h, "out_w": out_w}, quick)


CASES = [
    _case((2, 3, 14, 3), 46, 4, quick=True),
    _case((1, 2, 3, 14), 4, 46),
    # Two more pairs where whole numbers would pick another row.
    _case((1, 1, 56, 6), 92, 74),
    _case((1, 5, 8, 8), 16, 24),
    _case((3, 1, 5, 7), 5, 7),
    _case((1, 1, 1, 1), 33, 65),
    _case((0, 3, 2, 2), 4, 4),
    *(
        Case("nearest_upsample_2d", dtype, partial(words, 1, 1, 3, 14, dtype=dtype), {"out_h": 4, "out_w": 46})
        for dtype in ("int32", "uint32")
    ),
]
