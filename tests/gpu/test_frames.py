"""Arrays between sentinels: what goes in comes back, and a byte beside it that changed is seen."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.gpu.frames import (
    SENTINEL,
    SLACK_BYTES,
    Overrun,
    framed,
    framed_bytes,
    split_answer,
    unframed,
    written_arguments,
)
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.plan import Spec


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
@pytest.mark.parametrize("shape", [(3, 5), (1,), (0, 4)])
def test_an_array_comes_back_out_of_its_frame(dtype, shape):
    array = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    spec = spec_of(array)
    image = framed(array)
    assert len(image) == framed_bytes(spec)
    assert image[:SLACK_BYTES] == image[-SLACK_BYTES:] == bytes([SENTINEL & 0xFF]) * SLACK_BYTES
    for form in (image, memoryview(image)):
        back = unframed(form, spec)
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(back, array)


def test_an_argument_that_is_left_out_has_no_frame():
    assert framed(None) == b""


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (0, "before the array"),
        (SLACK_BYTES - 1, "before the array"),
        (-SLACK_BYTES, "past the array"),
        (-1, "past the array"),
    ],
)
def test_a_byte_that_changed_beside_the_array_is_seen(place, text):
    array = np.ones(7, np.float32)
    image = bytearray(framed(array))
    image[place] ^= 1
    with pytest.raises(Overrun, match=rf"^something was written {text}$"):
        unframed(bytes(image), spec_of(array))


def test_outputs_come_first_and_then_what_the_op_writes():
    out, written = np.ones(3, np.float32), np.arange(5, dtype=np.int32)
    specs = [None, spec_of(written)]
    result = split_answer(framed(out) + framed(written), [spec_of(out)], specs, [1])
    np.testing.assert_array_equal(result.outputs[0], out)
    assert list(result.written) == [1]
    np.testing.assert_array_equal(result.written[1], written)


def test_the_arguments_that_an_op_writes_are_found_by_name():
    some = Spec((4,), "float32")
    assert written_arguments(ops.softmax, [some]) == []
    assert [list(ops.cache_write.arrays)[i] for i in written_arguments(ops.cache_write, [some] * 5)] == ["cache"]


def test_an_argument_that_is_left_out_is_not_written():
    some = Spec((4,), "float32")
    names = list(ops.advance.arrays)
    assert [names[i] for i in written_arguments(ops.advance, [some] * 4 + [None])] == ["history", "state"]
    assert [names[i] for i in written_arguments(ops.advance, [some] * 5)] == ["history", "state", "pages"]
