"""What a token loop asks of the bridge, and what it makes of the answers."""

import asyncio

import numpy as np
import pytest

from tests.gpu.test_device import BookBridge
from webxpu.gpu.device import open_device
from webxpu.gpu.program import Counter, Loop, Program


class LoopBridge(BookBridge):
    """Hands out what a test has put into `batches`."""

    def __init__(self, *batches):
        super().__init__()
        self.batches = list(batches)

    def open_loop(self, device, options):
        self.options = options
        return 55

    async def close_loop(self, loop):
        self.closed = [*getattr(self, "closed", []), loop]
        return {"submitted": 2, "kept": 1, "gpuMs": None}

    async def next_ids(self, loop):
        assert loop == 55
        return self.batches.pop(0)


@pytest.fixture
def opened(monkeypatch):
    def open_it(*batches):
        bridge = LoopBridge(*batches)
        device = asyncio.run(open_device(bridge=bridge))
        return bridge, device, Program(device, "step", _handle=100)

    return open_it


def test_a_plain_loop_names_its_ring_and_nothing_else(opened):
    bridge, device, program = opened({"ids": [3, 4], "done": False}, {"ids": [], "done": True, "reason": "stop"})
    ring = device.empty((64,), "int32")
    loop = program.loop(9, ring=ring, first=5, ready=1, stops=[np.int32(7)])
    assert bridge.options == {
        "program": 100, "ring": ring.handle, "first": 5, "maxTokens": 9, "ready": 1, "stops": [7], "timestamps": False,
        "wraps": False,
    }  # fmt: skip

    async def collect():
        return [ids async for ids in loop], await loop.next(), loop.reason, loop.rows

    assert asyncio.run(collect()) == ([[3, 4]], [], "stop", None)


def test_a_counter_is_a_word_of_a_tensor(opened):
    bridge, device, program = opened()
    words = device.empty((128,), "uint32")[64:]
    program.loop(9, ring=device.empty((64,), "int32"), first=5, counter=Counter(words, 2, 1, 9), wraps=True)
    assert bridge.options["counter"] == {"buffer": words.handle, "offset": 256 + 8, "start": 1, "most": 9}
    assert bridge.options["wraps"] is True


def test_rows_come_in_the_shape_and_dtype_of_their_ring(opened):
    sent = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    bridge, device, program = opened(
        {"ids": [3, 4], "done": False, "rows": sent.tobytes()},
        {"ids": [5], "done": True, "reason": "length", "rows": sent[1:].tobytes()},
    )
    rows = device.empty((64, 2, 2), "float32")
    loop = program.loop(9, ring=device.empty((64,), "int32"), first=5, rows=rows)
    assert bridge.options["rows"] == {"buffer": rows.handle, "bytes": 16}
    assert isinstance(loop, Loop)
    assert loop.rows.shape == (0, 2, 2)
    seen = []
    for _ in range(3):
        ids = asyncio.run(loop.next())
        seen.append((ids, loop.rows.tolist(), loop.rows.dtype))
    assert seen == [([3, 4], sent.tolist(), "float32"), ([5], sent[1:].tolist(), "float32"), ([], [], "float32")]


def test_a_loop_is_closed_once(opened):
    bridge, device, program = opened()
    loop = program.loop(9, ring=device.empty((64,), "int32"), first=5)
    assert asyncio.run(loop.close()) == {"submitted": 2, "kept": 1, "gpuMs": None}
    assert asyncio.run(loop.close()) == {}
    assert bridge.closed == [55]
