"""Cases of permute: heads split and merged, patches of images, plain swaps, axes that merge into fewer."""

from functools import partial

import numpy as np

from webxpu.cases.case import EXACT, Case, words

TOLERANCE = EXACT


def _case(dims: tuple[int, ...], *shape: int, quick: bool = False) -> Case:
    name = "x".join(map(str, shape)) + "-by-" + "".join(map(str, dims))
    return Case("permute", name, partial(words, *shape), {"dims": dims}, quick)


CASES = [
    *(
        _case((1, 0, 2), *shape, quick=shape == (3, 16, 112))
        for shape in [(1, 1, 1), (5, 3, 4), (3, 5, 4), (3, 16, 112), (16, 3, 112), (3, 8, 112), (7, 2, 3), (1, 1, 300)]
    ),
    _case((1, 0, 2), 4, 9, 2),
    _case((0, 2, 1, 3), 2, 7, 2, 3),
    _case((0, 2, 4, 3, 5, 1), 2, 3, 2, 4, 3, 5, quick=True),
    _case((4, 2, 0, 3, 1), 2, 3, 4, 5, 6),
    _case((2, 1, 0), 5, 4, 3),
    _case((1, 0), 3, 40),
    _case((2, 3, 0, 1), 2, 3, 5, 4),
    _case((1, 2, 0), 3, 2, 20),
    _case((0, 2, 1), 4, 33, 3),
    _case((0, 1, 2), 3, 4, 150),
    _case((1, 0, 2), 3, 0, 2),
    Case("permute", "one-number", lambda: (np.array(2.5, np.float32),), {"dims": ()}),
    *(
        Case("permute", dtype, partial(words, 5, 3, 4, dtype=dtype), {"dims": (-2, 0, -1)})
        for dtype in ("int32", "uint32")
    ),
]
