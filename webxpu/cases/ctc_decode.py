"""Cases of ctc_decode: paths that tell the order of its two rules, ties, winners past a workgroup's lanes, batches."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import EXACT, F32, Case, hashed, wave

TOLERANCE = EXACT


def scores(paths: list[list[int]], classes: int, low: float = 0.0) -> tuple[F32]:
    """Scores within -2 .. 2, all the same `low` lower, whose best class of each frame is the path's with 4."""
    b, t = len(paths), len(paths[0])
    values = wave(b * t * classes, 0.7, amp=2).reshape(b, t, classes)
    np.put_along_axis(values, np.array(paths, np.int64).reshape(b, t, 1), 4, axis=2)
    return (values - np.float32(low),)


def _tied(pairs: list[tuple[int, int]], classes: int) -> tuple[F32]:
    """A frame for each pair of classes, both of which have the best score."""
    (values,) = scores([[high for _, high in pairs]], classes)
    for t, (low, _) in enumerate(pairs):
        values[0, t, low] = 4
    return (values,)


def _random(b: int, t: int, c: int) -> tuple[F32]:
    """Paths that stay on a class, say nothing, or go on, about as often each."""
    words = hashed(b * t, seed=c)
    classes = (words >> np.uint32(8)) % np.uint32(c)
    path: NDArray[np.int64] = np.where(words % 3 == 0, 0, classes).astype(np.int64).reshape(b, t)
    for step in range(1, t):
        path[:, step] = np.where(words.reshape(b, t)[:, step] % 3 == 1, path[:, step - 1], path[:, step])
    return scores(path.tolist(), c)


def _case(name: str, *paths: list[int], classes: int = 6, low: float = 0.0, **kwargs: int) -> Case:
    return Case("ctc_decode", name, partial(scores, list(paths), classes, low), kwargs, quick=name == "long")


CASES = [
    _case("repeats", [0, 0, 3, 4], [3, 4, 0, 0], [3, 3, 3, 4], [3, 4, 5, 4]),
    _case("blank-between", [3, 0, 3]),
    _case("blanks-between", [3, 0, 0, 3], [3, 0, 0, 0]),
    _case("only-blanks", [0, 0, 0], [0, 0, 4]),
    _case("long", [0, 0, 3, 3, 0, 3, 0, 0, 4, 4, 0, 5, 5, 5, 0]),
    _case("blank-5", [5, 5, 0, 0, 5, 0, 3, 5, 3], blank=5),
    _case("blank-5-first-0", [0, 5, 0, 2], blank=5),
    _case("blank-outside", [0, 0, 3, 5], blank=99),
    _case("blank-negative", [0, 0, 3, 5], blank=-1),
    _case("batch", [0] * 12, [1, 2] * 6, [1] * 3 + [2, 0, 2] + [5] * 6, [0] * 11 + [3]),
    _case("far-winners", [299, 257, 256, 255, 0, 1], classes=300),
    _case("all-negative", [3, 0, 5], low=100.0),
    _case("one-class", [0, 0], classes=1, blank=1),
    Case("ctc_decode", "tie", lambda: _tied([(2, 5), (1, 5)], 6)),
    Case("ctc_decode", "far-ties", lambda: _tied([(20, 276), (5, 260), (255, 256), (0, 299)], 300)),
    Case("ctc_decode", "all-infinite", lambda: (np.full((2, 3, 6), -np.inf, np.float32),), {"blank": 4}),
    *(
        Case("ctc_decode", f"{b}x{t}x{c}", partial(_random, b, t, c), quick=c == 37)
        for b, t, c in [
            (1, 12, 255),
            (1, 12, 256),
            (1, 12, 257),
            (2, 5, 300),
            (3, 3, 300),
            (7, 3, 37),
            (2, 700, 6),
            (50, 2, 6),
        ]
    ),
    Case("ctc_decode", "no-frames", lambda: (np.zeros((3, 0, 6), np.float32),)),
    Case("ctc_decode", "no-sequences", lambda: (np.zeros((0, 4, 6), np.float32),)),
]
