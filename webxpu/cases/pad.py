"""Cases of pad: each mode on the first, a middle and the last axis, as far as it reaches, one end only, words."""

from functools import partial
from typing import Any

from webxpu.cases.case import EXACT, Case, words
from webxpu.ops.pad import MODES

TOLERANCE = EXACT
_FILL = {"constant": {"value": -2.5}, "reflect": {}, "replicate": {}}


def _case(name: str, shape: tuple[int, ...], axis: int, before: int, after: int, mode: str, **more: Any) -> Case:
    kwargs = {"axis": axis, "before": before, "after": after, "mode": mode, **_FILL[mode], **more}
    return Case("pad", name, partial(words, *shape), kwargs, quick=name.endswith("-axis-1"))


CASES = [
    *(_case(f"{mode}-axis-{axis}", (5, 4, 7), axis, 3, 2, mode) for mode in MODES for axis in (0, 1, 2)),
    *(_case(f"{mode}-causal", (3, 300), -1, 6, 0, mode) for mode in MODES),
    *(_case(f"{mode}-after-only", (3, 300), -1, 0, 6, mode) for mode in MODES),
    _case("reflect-as-far-as-it-goes", (2, 4, 3), 1, 3, 3, "reflect"),
    _case("replicate-further-than-the-axis", (2, 2, 3), 1, 9, 5, "replicate"),
    _case("replicate-of-one", (2, 1, 3), 1, 2, 1, "replicate"),
    _case("several-workgroups", (2, 2100), 1, 1, 4, "reflect"),
    _case("nothing", (3, 5), 0, 0, 0, "reflect"),
    _case("constant-zero", (3, 5), 0, 1, 2, "constant", value=0),
    _case("constant-infinity-in-no-place", (3, 5), 1, 0, 0, "constant", value=float("inf")),
    _case("all-constant", (2, 0, 3), 1, 2, 1, "constant"),
    _case("empty", (0, 4), 1, 2, 1, "constant"),
    Case("pad", "int32", partial(words, 9, dtype="int32"), {"axis": 0, "before": 2, "after": 1, "value": -(2**31)}),
    Case("pad", "uint32", partial(words, 9, dtype="uint32"), {"axis": 0, "before": 2, "after": 1, "value": 2**32 - 2}),
]
