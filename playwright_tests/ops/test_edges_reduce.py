"""reduce among NaNs and infinities, which a comparison with a tolerance cannot judge: each stays in its own output."""

from __future__ import annotations

import numpy as np
import pytest

from playwright_tests.ops.every_plan import by_every_plan
from webxpu import ops
from webxpu.host.gpu_page import GpuPage
from webxpu.ops.reduce import KINDS

# Few values, many, a line that is divided, and lines whose values lie apart.
SHAPES = [((3, 8), 1), ((3, 300), 1), ((3, 16_385), 1), ((259, 3), 0)]
# The usual NaN, a negative one, the smallest and the largest.
BITS = (0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF)


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_nan_wins_wherever_it_is_and_stays_in_its_line(
    gpu_page: GpuPage, kind: str, shape: tuple[int, int], axis: int
) -> None:
    length = shape[axis]
    for place, bits in zip((0, 5, length // 2, length - 1), BITS, strict=True):
        x = np.full((3, length), 2, np.float32)
        x[:, 3] = np.finfo(np.float32).max
        x[:, 4] = np.finfo(np.float32).min
        x.view(np.uint32)[1, place] = bits
        for name, out in by_every_plan(gpu_page, ops.reduce, (x if axis else x.T,), axis=axis, kind=kind).items():
            assert np.isnan(out).tolist() == [False, True, False], f"{name}, at {place}"


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_infinities_are_what_they_are(gpu_page: GpuPage, shape: tuple[int, int], axis: int) -> None:
    x = np.full((3, shape[axis]), -np.inf, np.float32)
    x[1] = np.inf
    x[2, -1] = 7
    wanted = {"max": [-np.inf, np.inf, 7], "min": [-np.inf, np.inf, -np.inf], "sum": [-np.inf, np.inf, -np.inf]}
    for kind, want in (*wanted.items(), ("mean", wanted["sum"])):
        for name, out in by_every_plan(gpu_page, ops.reduce, (x if axis else x.T,), axis=axis, kind=kind).items():
            assert out.tolist() == want, name


def test_infinities_of_both_signs_have_no_sum(gpu_page: GpuPage) -> None:
    x = np.zeros((2, 300), np.float32)
    x[1, [4, 270]] = np.inf, -np.inf
    for kind in ("sum", "mean"):
        for name, out in by_every_plan(gpu_page, ops.reduce, (x,), axis=1, kind=kind).items():
            assert (out[0], np.isnan(out[1])) == (0, True), name


def test_the_mean_of_nothing_is_nan(gpu_page: GpuPage) -> None:
    for name, out in by_every_plan(gpu_page, ops.reduce, (np.zeros((5, 0), np.float32),), axis=1, kind="mean").items():
        assert np.isnan(out).tolist() == [True] * 5, name
