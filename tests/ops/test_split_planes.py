"""split_planes: its values, errors and plans. The GPU's cases are webxpu/cases/split_planes.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import block_weight
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.quant.ggml import BLOCK_TYPES, to_stored

PLANES = [name for name, block in BLOCK_TYPES.items() if block.planes]
SPAN = np.array([0, 1, 1, 0], np.uint32)


def words(data):
    return np.concatenate([data, np.zeros(-len(data) % 4, np.uint8)]).view(np.uint32)


def test_one_hand_built_block():
    # Q4_0: two bytes of scale, sixteen bytes of codes. Stored: the codes, then the scale, padded to 16.
    block = np.array([0xAA, 0xBB, *range(16)], np.uint8)
    stored = np.zeros(8, np.uint32)
    ops.split_planes(words(block), stored, SPAN, type="q4_0")
    assert stored.view(np.uint8).tolist() == [*range(16), 0xAA, 0xBB, *[0] * 14]


@pytest.mark.parametrize("name", PLANES)
@pytest.mark.parametrize("chunk", [1, 2, 7, 30])
def test_chunks_of_any_size_build_what_kernels_read(name, chunk):
    weight = block_weight(name, (5, 6 * BLOCK_TYPES[name].elements))  # 30 blocks
    blocks = weight.data.reshape(30, -1)
    whole = to_stored(weight)
    stored = np.zeros(len(whole) // 4, np.uint32)
    for first in range(0, 30, chunk):
        part = blocks[first : first + chunk]
        ops.split_planes(words(part.reshape(-1)), stored, np.array([first, len(part), 30, 0], np.uint32), type=name)
    np.testing.assert_array_equal(stored.view(np.uint8), whole)


def test_a_scale_after_the_codes_goes_to_the_scales():
    # TQ2_0: 64 bytes of codes, two bytes of scale.
    block = np.array([*range(64), 0xAA, 0xBB], np.uint8)
    stored = np.zeros(20, np.uint32)
    ops.split_planes(words(block), stored, SPAN, type="tq2_0")
    assert stored.view(np.uint8).tolist() == [*range(64), 0xAA, 0xBB, *[0] * 14]


def test_a_piece_goes_where_it_belongs_and_leaves_the_rest_alone():
    weight = block_weight("q8_0", (1, 32))
    stored = np.full(36 + 4, 0x55555555, np.uint32)  # 4 blocks: 128 + 16 bytes
    ops.split_planes(words(weight.data), stored, np.array([1, 1, 4, 2], np.uint32), type="q8_0")
    changed = np.flatnonzero(stored.view(np.uint8) != 0x55)
    assert set(changed) <= {*range(96, 128), 134, 135}
    np.testing.assert_array_equal(stored.view(np.uint8)[96:128], weight.data[2:])
    np.testing.assert_array_equal(stored.view(np.uint8)[134:136], weight.data[:2])


@pytest.mark.parametrize(
    ("raw", "span", "name", "text"),
    [
        (
            np.zeros(5, np.uint32),
            SPAN,
            "q4_1",
            "split_planes: type must be one of q1_0, q3_k, .*, got 'q4_1'",
        ),
        (np.zeros(5, np.int32), SPAN, "q4_0", r"split_planes: raw must be uint32 of shape \(words,\), got int32\[5\]"),
        (np.zeros(5, np.uint32), SPAN[:3], "q4_0", r"split_planes: span must be uint32\[4\], got uint32\[3\]"),
    ],
)
def test_what_does_not_fit_is_named(raw, span, name, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.split_planes(raw, np.zeros(8, np.uint32), span, type=name)


@pytest.mark.parametrize("name", PLANES)
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("count", [1, 127, 128, 129])
def test_the_grid_covers_a_chunk_that_starts_at_an_odd_block(plain_gpu, name, first, count):
    raw = Spec((-(-count * BLOCK_TYPES[name].nbytes // 4),), "uint32")
    _, plan = ops.split_planes.plan_of(plain_gpu, raw, Spec((10_000,), "uint32"), Spec((4,), "uint32"), type=name)
    (dispatch,) = plan.dispatches
    pairs = (first + count - 1) // 2 - first // 2 + 1
    assert dispatch.grid[0] * 64 >= pairs
    assert [b.access for b in dispatch.bindings] == ["read", "read_write", "uniform"]
    code_words = BLOCK_TYPES[name].nbytes // 4
    scale_at = 0 if name in ("q4_0", "q8_0", "q5_0", "q1_0") else 2 * code_words
    assert dispatch.constants == {"CODE_WORDS": code_words, "SCALE_AT": scale_at}
