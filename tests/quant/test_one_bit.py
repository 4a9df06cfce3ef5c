"""Q1_0's quantiser against ggml's own (tests/goldens/q1_0.py)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from webxpu.cases.case import uniform
from webxpu.quant.ggml import Blocks, dequantize
from webxpu.quant.one_bit import quantize_q1_0

with np.load(Path(__file__).parent.parent / "goldens" / "q1_0.npz") as file:
    GOLDEN = {name: file[name] for name in file.files}


@pytest.mark.parametrize(
    ("rows", "blocks"),
    [
        (GOLDEN["real"], GOLDEN["real_blocks"]),
        (uniform((64, 256), 5), GOLDEN["uniform_blocks"]),
        (GOLDEN["close"], GOLDEN["close_blocks"]),
        (GOLDEN["edges"], GOLDEN["edge_blocks"]),
    ],
    ids=["real", "uniform", "close", "edges"],
)
def test_the_blocks_are_ggmls_bit_for_bit(rows: np.ndarray, blocks: np.ndarray) -> None:
    np.testing.assert_array_equal(quantize_q1_0(rows), blocks)


def test_what_is_stored_is_the_sign_times_the_mean_magnitude() -> None:
    rows = uniform((5, 384), 1)
    values = dequantize(Blocks("q1_0", (5, 384), quantize_q1_0(rows).reshape(-1)))
    np.testing.assert_array_equal(np.sign(values), np.sign(rows))
    means = np.abs(rows).reshape(5, 3, 128).mean(axis=2).repeat(128, axis=1)
    np.testing.assert_allclose(np.abs(values), means, rtol=5e-4)
