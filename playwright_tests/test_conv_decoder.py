"""A small decoder of convolutions inside Pyodide, recorded and run: tests/ops/conv_decoder.py on tensors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from playwright_tests.python_page import PythonPage
from tests.ops import conv_decoder

GOLDENS = Path(__file__).parent.parent / "tests" / "goldens" / "conv_ops.npz"


def test_a_recorded_decoder_agrees_with_torch_and_takes_longer_audio_by_the_same_pipelines(python: PythonPage) -> None:
    found = python.run(
        """
import types
decoder = types.ModuleType("conv_decoder")
exec(given["source"], vars(decoder))
device = await webxpu.open_device()
w = {name: device.tensor(array) for name, array in decoder.weights().items()}
first = decoder.latents()
longer = np.concatenate([first, first[:, :, ::-1]], axis=2)
found = {"shapes": [], "audio": [], "pipelines": []}
for latents in (first, longer):
    x = device.tensor(np.zeros_like(latents))
    with device.record("decoder") as program:
        audio = decoder.decode(x, w)
    await program.compile()
    x.write(latents)
    calls = bridge.calls
    program.run()
    assert bridge.calls == calls + 1
    found["shapes"].append(audio.shape)
    found["audio"].append((await audio.numpy()).ravel().tolist())
    found["pipelines"].append(device.stats()["pipelines"])
    found["dispatches"] = program.dispatches
    program.free()
device.close()
return found
""",
        source=Path(conv_decoder.__file__).read_text("utf-8"),
    )
    first = conv_decoder.latents()
    longer = conv_decoder.decode(np.concatenate([first, first[:, :, ::-1]], axis=2), conv_decoder.weights())
    assert found["shapes"] == [[1, 1, 144], [1, 1, 288]]
    with np.load(GOLDENS) as goldens:
        np.testing.assert_allclose(found["audio"][0], goldens["conv_decoder.out"].ravel(), atol=1e-4)
    np.testing.assert_allclose(found["audio"][1], longer.ravel(), atol=1e-4)
    assert found["pipelines"][0] == found["pipelines"][1]
