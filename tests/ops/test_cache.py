"""cache_write: where keys and values go, and what is left alone. The GPU's cases are webxpu/cases/cache.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.llm.state import State
from webxpu.quant.kv import kv_spec, stored


def arguments(rows=3, position=62, valid=3, capacity=256):
    k = np.arange(rows * 2 * 4, dtype=np.float32).reshape(rows, 2, 4) + 1
    cache = np.zeros((4, 2, 64, 2, 4), np.float32)
    pages = np.array([2, 0, 3, 1], np.int32)
    return k, -k, cache, pages, State(position=position, rows=valid, capacity=capacity).to_words()


def test_a_row_lies_in_the_page_and_slot_of_its_position():
    k, v, cache, *rest = arguments()
    assert ops.cache_write(k, v, cache, *rest) is None
    for row, (page, slot) in enumerate([(2, 62), (2, 63), (0, 0)]):
        np.testing.assert_array_equal(cache[page, 0, slot], k[row])
        np.testing.assert_array_equal(cache[page, 1, slot], v[row])
    assert np.count_nonzero(cache) == 2 * k.size


@pytest.mark.parametrize(
    ("valid", "capacity", "written"), [(2, 256, 2), (0, 256, 0), (3, 63, 1), (3, 62, 0), (9, 256, 3)]
)
def test_padding_and_what_passes_the_capacity_are_not_written(valid, capacity, written):
    k, v, cache, *rest = arguments(valid=valid, capacity=capacity)
    ops.cache_write(k, v, cache, *rest)
    assert np.count_nonzero(cache) == written * 2 * 8


@pytest.mark.parametrize("kv", ["f16", "q8"])
def test_a_smaller_type_takes_rows_as_it_stores_them_and_leaves_the_rest(kv):
    spec = kv_spec(kv, 4, 2, 32)
    cache = np.full(spec.shape, 9, spec.dtype)
    k = np.linspace(-1, 2, 3 * 2 * 32, dtype=np.float32).reshape(3, 2, 32)
    _, _, _, pages, state = arguments()
    ops.cache_write(k, 5 * k, cache, pages, state)
    for row, (page, slot) in enumerate([(2, 62), (2, 63), (0, 0)]):
        np.testing.assert_array_equal(cache[page, 0, slot], stored(k[row], spec.dtype))
        np.testing.assert_array_equal(cache[page, 1, slot], stored(5 * k[row], spec.dtype))
        cache[page, :, slot] = 9
    assert (cache == 9).all()


@pytest.mark.parametrize(
    ("index", "value", "text"),
    [
        (0, np.zeros((3, 1, 4), np.float32), r"k must be float32\[L, 2, 4\], got float32\[3, 1, 4\]"),
        (0, np.zeros((3, 2, 4), np.int32), r"k must be float32\[L, 2, 4\], got int32"),
        (1, np.zeros((2, 2, 4), np.float32), r"v must be like k, float32\[3, 2, 4\], got float32\[2, 2, 4\]"),
        (
            2,
            np.zeros((4, 2, 32, 2, 4), np.float32),
            r"cache must be float32\[P, 2, 64, G, D\], float16 of an even D, or uint32\[.., D / 32 \* 9\], got",
        ),
        (
            2,
            np.zeros((4, 2, 64, 8), np.float32),
            r"cache must be float32\[P, 2, 64, G, D\], float16 of an even D, or uint32\[.., D / 32 \* 9\], got",
        ),
        (2, np.zeros((4, 2, 64, 2, 5), np.float16), r"cache must be float32\[P, .*, float16 of an even D, or .*, got"),
        (2, np.zeros((4, 2, 64, 2, 8), np.uint32), r"cache must be .*, or uint32\[.., D / 32 \* 9\], got uint32"),
        (2, np.zeros((4, 2, 64, 2, 8), np.int32), r"cache must be float32\[P, 2, 64, G, D\], .*, got int32"),
        (3, np.zeros(4, np.float32), r"pages must be int32\[n\], got float32\[4\]"),
        (4, np.zeros(64, np.int32), r"state must be uint32\[64\], got int32\[64\]"),
    ],
)
def test_what_does_not_fit_is_named(index, value, text):
    args = list(arguments())
    args[index] = value
    with pytest.raises(ShapeError, match=f"^cache_write: {text}"):
        ops.cache_write(*args)


@pytest.mark.parametrize("rows", [1, 16, 256])
def test_the_number_of_rows_is_no_constant_of_the_kernel(plain_gpu, rows):
    k, cache = Spec((rows, 3, 64), "float32"), Spec((8, 2, 64, 3, 64), "float32")
    _, plan = ops.cache_write.plan_of(plain_gpu, k, k, cache, Spec((8,), "int32"), Spec((64,), "uint32"))
    (dispatch,) = plan.dispatches
    assert dispatch.constants == {"G": 3, "D": 64}
    assert dispatch.grid == (rows * 3, 1, 1)


@pytest.mark.parametrize(("kv", "groups"), [("f32", 48), ("f16", 24), ("q8", 2)])
def test_a_thread_stores_what_the_type_keeps_together(plain_gpu, kv, groups):
    k = Spec((16, 3, 64), "float32")
    args = [k, k, kv_spec(kv, 8, 3, 64), Spec((8,), "int32"), Spec((64,), "uint32")]
    (dispatch,) = ops.cache_write.plan_of(plain_gpu, *args)[1].dispatches
    assert dispatch.grid == (groups, 1, 1)
    assert dispatch.kernel.label == "cache/kernel" + ("" if kv == "f32" else f":kv-{kv}")
