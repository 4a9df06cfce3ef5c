"""Cases of transpose: below, at, past and not a multiple of a tile's 32, batches, words that are no floats."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import EXACT, F32, Case, distinct, hashed

TOLERANCE = EXACT


def _matrix(*shape: int) -> tuple[F32]:
    return (distinct(int(np.prod(shape))).reshape(shape),)


def _words(dtype: str, *shape: int) -> tuple[NDArray[Any]]:
    return (hashed(int(np.prod(shape))).view(dtype).reshape(shape),)


CASES = [
    *(
        Case("transpose", f"{r}x{c}", partial(_matrix, r, c), quick=r == 37)
        for r, c in [(3, 5), (16, 16), (17, 33), (64, 256), (37, 129), (1, 300), (300, 1), (32, 33)]
    ),
    # With 3 as the smaller size, as 3x5 has: no pipeline more.
    *(
        Case("transpose", f"batch-{b}-{r}x{c}", partial(_matrix, b, r, c), quick=b == 4)
        for b, r, c in [(4, 33, 3), (2, 3, 70)]
    ),
    *(Case("transpose", dtype, partial(_words, dtype, 3, 40)) for dtype in ("int32", "uint32")),
    Case("transpose", "four-axes", partial(_matrix, 2, 2, 33, 3)),
    Case("transpose", "no-columns", partial(_matrix, 3, 0)),
]
