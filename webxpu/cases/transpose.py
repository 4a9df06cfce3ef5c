"""Cases of transpose: below, at, past and not a multiple of a tile's 32, batches, words that are no floats."""

from functools import partial

from webxpu.cases.case import EXACT, Case, words

TOLERANCE = EXACT

CASES = [
    *(
        Case("transpose", f"{r}x{c}", partial(words, r, c), quick=r == 37)
        for r, c in [(3, 5), (16, 16), (17, 33), (64, 256), (37, 129), (1, 300), (300, 1), (32, 33)]
    ),
    # With 3 as the smaller size, as 3x5 has: no pipeline more.
    *(
        Case("transpose", f"batch-{b}-{r}x{c}", partial(words, b, r, c), quick=b == 4)
        for b, r, c in [(4, 33, 3), (2, 3, 70)]
    ),
    *(Case("transpose", dtype, partial(words, 3, 40, dtype=dtype)) for dtype in ("int32", "uint32")),
    Case("transpose", "four-axes", partial(words, 2, 2, 33, 3)),
    Case("transpose", "no-columns", partial(words, 3, 0)),
]
