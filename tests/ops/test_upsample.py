"""nearest_upsample_2d: its values, errors and plans. The GPU's cases are webxpu/cases/upsample.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec


def rows_of(size, larger):
    x = np.arange(size, dtype=np.int32).reshape(1, 1, size, 1)
    return ops.nearest_upsample_2d(x, out_h=larger, out_w=1).ravel()


def test_it_is_torchs_interpolate(golden):
    out = ops.nearest_upsample_2d(golden("upsample.x"), out_h=46, out_w=7)
    np.testing.assert_array_equal(out, golden("upsample.out"))


def test_every_pair_of_sizes_picks_torchs_places(golden):
    others = golden("upsample.others").astype(int)
    assert len({(size, larger) for size, larger, _, _ in others}) == 189
    for size in range(1, 65):
        for larger in range(size, 200):
            want = np.arange(larger) * size // larger
            mine = (others[:, 0] == size) & (others[:, 1] == larger)
            want[others[mine, 2]] = others[mine, 3]
            np.testing.assert_array_equal(rows_of(size, larger), want, err_msg=f"{size} to {larger}")


def test_float32_puts_row_23_of_46_before_row_7_of_14():
    assert rows_of(14, 46)[22:25].tolist() == [6, 6, 7]
    assert 23 * 14 // 46 == 7


def test_a_size_is_not_a_scale_factor():
    assert rows_of(3, 4).tolist() == [0, 0, 1, 2]  # scale_factor=1.6 gives 0, 0, 1, 1; "nearest-exact" 0, 1, 1, 2


def test_the_own_size_is_the_identity_and_an_array_of_its_own():
    x = np.arange(12, dtype=np.float32).reshape(1, 2, 2, 3)
    out = ops.nearest_upsample_2d(x, out_h=2, out_w=3)
    np.testing.assert_array_equal(out, x)
    assert not np.shares_memory(out, x)


@pytest.mark.parametrize(
    ("x", "size", "text"),
    [
        (np.ones((1, 1, 3, 4)), (2, 4), "out_h must be a whole number, at least 3, got 2"),
        (np.ones((1, 1, 3, 4)), (3, 3), "out_w must be a whole number, at least 4, got 3"),
        (np.ones((1, 1, 3, 4)), (3, 4.5), r"out_w must be a whole number, at least 4, got 4\.5"),
        (
            np.ones((1, 3, 4)),
            (3, 4),
            r"x must be float32, int32 or uint32 of shape \(N, C, H, W\), H and W at least 1, got",
        ),
        (np.ones((1, 1, 0, 4)), (3, 4), "x must be float32, int32 or uint32 of shape"),
        (np.ones((1, 1, 3, 4), np.float16), (3, 4), "x must be float32, int32 or uint32 of shape"),
    ],
)
def test_what_does_not_fit_is_named(x, size, text):
    with pytest.raises(ShapeError, match=f"^nearest_upsample_2d: {text}"):
        ops.nearest_upsample_2d(x, out_h=size[0], out_w=size[1])


def test_the_number_of_planes_is_no_constant_and_scales_are_divided_in_float32(plain_gpu):
    plans = [
        ops.nearest_upsample_2d.plan_of(plain_gpu, Spec((n, 3, 14, 4), "float32"), out_h=46, out_w=8)[1]
        for n in (1, 100_000)
    ]
    first, second = (plan.dispatches[0] for plan in plans)
    assert first.constants == second.constants
    assert first.constants["SCALE_H"] == float(np.float32(14) / np.float32(46)) != 14 / 46
    assert (first.grid, len(plans[1].dispatches)) == ((2, 1, 1), 4)
