"""Conversations that are saved go on in another engine as if nothing had happened; others are refused."""

from __future__ import annotations

import asyncio
import hashlib
import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.llm import tiny
from tests.llm.numpy_device import ConversationOnNumpy, numpy_engine
from webxpu.errors import ContextOverflow, DeviceError, FormatError, ShapeError, Unsupported
from webxpu.llm import snapshot
from webxpu.llm.generate import Generation

CONFIG, ARRAYS = tiny.model()[0], tiny.dense()
PROMPT = tiny.golden()["prompt"].tolist()
GREEDY = tiny.golden()["greedy"].tolist()


def new(capacity: int = 192, **options: Any) -> ConversationOnNumpy:
    return numpy_engine(CONFIG, ARRAYS, capacity, identity="tiny", **options)


def run(sequence: ConversationOnNumpy, ids: list[int] = PROMPT, **options: Any) -> Generation:
    async def collect() -> Generation:
        generation = sequence.generate(ids, **options)
        async for _ in generation:
            pass
        return generation

    return asyncio.run(collect())


def saved(one: ConversationOnNumpy) -> bytes:
    return asyncio.run(one.save())


def held(one: ConversationOnNumpy) -> list[bytes]:
    """The bytes of each layer's positions that are certain."""
    count = len(one.ledger.ids) - one.ledger.evicted
    return [
        np.concatenate([np.asarray(layer)[page] for page in one.ledger.table], axis=1)[:, :count].tobytes()
        for layer in one.cache.layers
    ]


@pytest.mark.parametrize(
    "options", [{}, {"kv": "f16"}, {"kv": "q8"}, {"sinks": 64}, {"sinks": 64, "kv": "q8"}], ids=str
)
def test_a_saved_conversation_goes_on_in_another_engine_bit_for_bit(options: dict[str, Any]) -> None:
    one, other = new(**options), new(**options)
    first = run(one, max_tokens=60 if "sinks" not in options else 150)
    data = saved(one)
    run(other, [*range(90)], max_tokens=3)  # so that its pages lie elsewhere
    asyncio.run(other.restore(data))
    assert held(other) == held(one)
    assert (other.ledger.ids, other.ledger.evicted) == (one.ledger.ids, one.ledger.evicted)
    assert one.ledger.evicted == (64 if "sinks" in options else 0)
    longer = [*PROMPT, *first.ids, 3, 4]
    again, want = run(other, longer, max_tokens=12), run(one, longer, max_tokens=12)
    assert again.reused_tokens == want.reused_tokens == len(longer) - 3
    assert again.ids == want.ids


def test_it_is_read_and_written_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = new(), new()
    run(one, max_tokens=80)
    whole = saved(one)
    monkeypatch.setattr(snapshot, "PIECE_BYTES", 1)
    one.device.calls.clear()
    assert saved(one) == whole
    assert one.device.calls == ["submit", "read"] * 3 * CONFIG.layers
    asyncio.run(other.restore(whole))
    assert held(other) == held(one)
    assert other.device.calls == [*["submit"] * 3 * CONFIG.layers, "sync"]


def test_a_conversation_without_ids_can_be_saved_too() -> None:
    one = new()
    data = saved(new())
    run(one, max_tokens=2)
    asyncio.run(one.restore(data))
    assert (one.ledger.ids, one.ledger.table) == ([], [])


def test_saving_lets_a_generation_go_on() -> None:
    async def halfway() -> tuple[list[int], bytes]:
        one = new()
        generation = one.generate(PROMPT, max_tokens=24)
        await anext(generation)
        data = await one.save()
        async for _ in generation:
            pass
        return generation.ids, data

    ids, data = asyncio.run(halfway())
    assert ids == GREEDY
    other = new()
    asyncio.run(other.restore(data))
    assert other.ledger.ids == PROMPT
    assert run(other, max_tokens=24).ids == GREEDY


def test_a_restored_conversation_may_have_another_context() -> None:
    one, small, large = new(), new(128), new(256)
    run(one, max_tokens=80)
    data = saved(one)
    asyncio.run(large.restore(data))
    assert (
        run(large, [*one.ledger.ids, 3, 4], max_tokens=12).ids == run(one, [*one.ledger.ids, 3, 4], max_tokens=12).ids
    )
    with pytest.raises(ContextOverflow):
        asyncio.run(small.restore(data))


def changed(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def other_version(data: bytes) -> bytes:
    body = data[:8] + struct.pack("<I", 2) + data[12:-32]
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda data: b"", FormatError, r"the bytes must begin with b'webxpuKV', got b''"),
        (lambda data: changed(data, 0), FormatError, r"the bytes must begin with b'webxpuKV', got b'vebxpuKV'"),
        (other_version, Unsupported, r"the snapshot's version must be 1, got 2"),
        (lambda data: data[:30], FormatError, r"the 30 bytes of the snapshot were cut or changed: .*"),
        (lambda data: data[:-1], FormatError, r"the \d+ bytes of the snapshot were cut or changed: .*"),
        (lambda data: changed(data, 40), FormatError, r"the \d+ bytes of the snapshot were cut or changed: .*"),
        (lambda data: changed(data, 30_000), FormatError, r"the \d+ bytes of the snapshot were cut or changed: .*"),
    ],
)
def test_bytes_that_are_no_whole_snapshot_are_refused(
    wrong: Callable[[bytes], bytes], error: Any, message: str
) -> None:
    one = new()
    run(one, max_tokens=4)
    before, table = list(one.ledger.ids), list(one.ledger.table)
    with pytest.raises(error, match=f"^restore: {message}$"):
        asyncio.run(one.restore(wrong(saved(one))))
    assert (one.ledger.ids, one.ledger.table) == (before, table)


@pytest.mark.parametrize(
    "changes",
    [
        {"ids": None}, {"ids": -5}, {"ids": 40}, {"evicted": 50}, {"evicted": -64, "pages": 2}, {"pages": 2},
        {"page_tokens": 0}, [],
    ],
    ids=str,
)  # fmt: skip
def test_a_snapshot_whose_header_lies_is_refused(changes: Any) -> None:
    one = new()
    run(one, [1, 2], max_tokens=1)
    data = saved(one)
    (length,) = struct.unpack_from("<I", data, 12)
    header = json.loads(data[16 : 16 + length])
    text = json.dumps({**header, **changes} if changes else changes).encode()
    body = data[:12] + struct.pack("<I", len(text)) + text + data[16 + length : -32]
    with pytest.raises(
        FormatError, match=r"^restore: the snapshot's (counts must fit its \d+ bytes|header must have all)"
    ):
        asyncio.run(one.restore(body + hashlib.sha256(body).digest()))
    assert one.ledger.ids == [1, 2]


def test_what_are_no_bytes_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"^restore: saved must be bytes, got 'text'$"):
        asyncio.run(new().restore("text"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kv": "q8"}, "kv must be this model's 'q8', got 'f32'"),
        ({"sinks": 64}, "sinks must be this model's 64, got 0"),
    ],
)
def test_a_snapshot_of_another_kind_of_cache_is_refused(options: dict[str, Any], message: str) -> None:
    one = new()
    run(one, max_tokens=4)
    with pytest.raises(Unsupported, match=f"^restore: the snapshot's {message}$"):
        asyncio.run(new(**options).restore(saved(one)))


def test_a_snapshot_of_another_model_is_refused() -> None:
    one = new()
    run(one, max_tokens=4)
    other = numpy_engine(CONFIG, ARRAYS, 192, identity="large")
    with pytest.raises(
        Unsupported, match=r"^restore: the snapshot's identity must be this model's 'large', got 'tiny'$"
    ):
        asyncio.run(other.restore(saved(one)))


def test_where_writing_fails_the_conversation_is_empty() -> None:
    one, other = new(), new()
    run(one, max_tokens=4)
    run(other, max_tokens=4)

    def refuse(_: Any) -> None:
        raise DeviceError("lost")

    other.device.submit = refuse  # type: ignore[method-assign]
    with pytest.raises(DeviceError, match=r"^lost$"):
        asyncio.run(other.restore(saved(one)))
    assert (other.ledger.ids, other.ledger.table) == ([], [])
