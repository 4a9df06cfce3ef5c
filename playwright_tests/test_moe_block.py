"""A mixture-of-experts block inside Pyodide: recorded on tensors, it gives what transformers gave."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

from playwright_tests.python_page import PythonPage
from tests.ops.moe_block import moe_block

GOLDENS = Path(__file__).parent.parent / "tests" / "goldens" / "moe_ops.npz"
# The function's own source runs in the page; an import of tests is nothing that the wheel has.
BLOCK = "from typing import Any\nfrom collections.abc import Sequence\n" + inspect.getsource(moe_block)
RUN = """
arrays = {name: np.array(values, np.float32) for name, values in given["arrays"].items()}
device = await webxpu.open_device()
def weights(put):
    pairs = zip(arrays["gate_up"], arrays["down"], strict=True)
    return put(arrays["router"]), [(*map(put, np.split(both, 2)), put(back)) for both, back in pairs]
x = device.tensor(np.zeros_like(arrays["x"]))
with device.record() as program:
    out = moe_block(x, *weights(device.tensor), k=3, capacity=given["capacity"])
await program.compile()
found = []
for values in (arrays["x"], arrays["x"][::-1].copy()):
    x.write(values)
    program.run()
    found.append((await out.numpy()).tolist())
want = moe_block(arrays["x"], *weights(np.asarray), k=3, capacity=given["capacity"])
device.close()
return found, want.tolist()
"""


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray]:
    with np.load(GOLDENS) as found:
        return {name.removeprefix("moe_block."): found[name] for name in found if name.startswith("moe_block.")}


def run(python: PythonPage, arrays: dict[str, np.ndarray], capacity: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The block on the golden's tokens, on the same in the reverse order, and on arrays."""
    given = {name: values.tolist() for name, values in arrays.items() if name != "out"}
    (forth, back), want = python.run(BLOCK + RUN, arrays=given, capacity=capacity)
    return np.array(forth), np.array(back), np.array(want)


def test_a_recorded_block_gives_transformers_values_on_whatever_tokens_come(
    python: PythonPage, arrays: dict[str, np.ndarray]
) -> None:
    forth, back, _ = run(python, arrays, capacity=22)  # a seat for each of the 21 tokens
    np.testing.assert_allclose(forth, arrays["out"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(back, arrays["out"][::-1], rtol=1e-4, atol=1e-5)


def test_a_crowded_block_drops_the_same_tokens_as_on_arrays(python: PythonPage, arrays: dict[str, np.ndarray]) -> None:
    forth, back, want = run(python, arrays, capacity=8)
    np.testing.assert_allclose(forth, want, rtol=1e-4, atol=1e-5)
    assert np.abs(forth - arrays["out"]).max() > 0.1
    assert np.abs(back[::-1] - forth).max() > 0.1  # who comes later is dropped
