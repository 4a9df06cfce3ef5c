"""The Python half of `bridge/worker.mjs`: answers a page's requests. The messages are described in `bridge/client.mjs`.

JSON comes in and goes out, and no exception leaves: an answer is {"value": ...} or {"error": {"name", "message"}}.
"""

from __future__ import annotations

import asyncio
import json
import math
import traceback
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from typing import Any

from webxpu.chat.session import Chat, Reply
from webxpu.errors import ShapeError
from webxpu.gpu.device import Device, open_device
from webxpu.llm.dry import Dry
from webxpu.llm.model import Model, load
from webxpu.self_check import check
from webxpu.stored import cached, forget

# Called with a stage, the bytes or cases done and all there are.
Progress = Callable[[str, int, int], object]

_model: Model | None = None
_device: Device | None = None
_replies: dict[int, Reply] = {}
_loads: dict[int, asyncio.Task[None]] = {}


async def request(text: str, progress: Progress) -> str:
    """Answers one request: `{"type": ..., ...}`."""
    message = json.loads(text)
    try:
        return json.dumps({"value": await _answer(message, progress)})
    except asyncio.CancelledError:
        return json.dumps({"error": {"name": "AbortError", "message": "load: it was aborted"}})
    except Exception as e:  # noqa: BLE001 - whatever it is, it crosses to the page as data
        return json.dumps({"error": _described(e)})


async def stream(text: str) -> AsyncIterator[str]:
    """Answers "chat" and "generate": {"text", "tokens"} for each piece, at last {"value": ...} or {"error": ...}."""
    message = json.loads(text)
    number = message["id"]
    try:
        reply = _replies[number] = _start_reply(message)
        known = 0
        async for piece in reply:
            yield json.dumps({"text": piece, "tokens": len(reply.ids) - known})
            known = len(reply.ids)
        yield json.dumps({"value": _result(reply)})
    except Exception as e:  # noqa: BLE001 - whatever it is, it crosses to the page as data
        yield json.dumps({"error": _described(e)})
    finally:
        _replies.pop(number, None)


def abort(number: int) -> None:
    """Ends the load of that number, or the reply to the request of that number, if it still runs."""
    if number in _replies:
        _replies[number].abort()
    if number in _loads:
        _loads[number].cancel()


async def _answer(message: dict[str, Any], progress: Progress) -> Any:
    match message["type"]:
        case "open":
            await _free()
            await _open(message["device"])
            return _info()
        case "load":
            number, given = message.get("id", 0), (message["source"], message["device"], message["options"])
            task = _loads[number] = asyncio.ensure_future(_load(*given, progress))
            try:
                await task
            finally:
                del _loads[number]
            return _info()
        case "info":
            return _info()
        case "check":
            chosen = {"quick": message["quick"], "only": message.get("only")}
            report = await check(_device, **chosen, progress=lambda *done: progress("check", *done))
            return report.as_dict()
        case "cached":
            return [asdict(file) for file in await cached()]
        case "forget":
            return await forget(message["url"])
        case "bench":
            return await _bench(message["options"], lambda *done: progress("bench", *done))
        case "tokens":
            return _tokens(message["of"], add_special=message["add_special"])
        case "free":
            return await _free()
        case other:
            raise ShapeError(f"worker: type must be one of the requests in bridge/client.mjs, got {other!r}")


async def _open(options: dict[str, Any]) -> Device:
    global _device
    _device = await open_device(**options)
    return _device


async def _load(source: str, device_options: dict[str, Any], options: dict[str, Any], progress: Progress) -> None:
    """Loads a model on a device of its own. Where that fails, the model that was there before stays."""
    global _model, _device
    progress("header", 0, 0)
    device = await open_device(**device_options)

    def loaded(done: int, total: int) -> None:
        progress("download", done, total)
        if done == total:
            progress("compile", done, total)

    try:
        model = await load(source, device=device, progress=loaded, **options)
    except BaseException:
        device.close()
        raise
    await _free()
    _model, _device = model, device


def _start_reply(message: dict[str, Any]) -> Reply:
    model, options = _loaded(), _from_json(message["options"])
    if message["type"] == "chat":
        return Chat(model).stream(message["messages"], **options)
    prompt, stop = message["prompt"], options.pop("stop", ())
    ids = model.tokenizer.encode(prompt, add_special=True) if isinstance(prompt, str) else prompt
    return Reply(model.generate(ids, **options), model.tokenizer, stop)


def _from_json(options: dict[str, Any]) -> dict[str, Any]:
    """Options of a reply as Python has them: JSON knows no keys but texts, no infinity and no Dry."""
    found = dict(options)
    if "logit_bias" in found:
        biases = found["logit_bias"].items()
        found["logit_bias"] = {int(token): -math.inf if bias is None else bias for token, bias in biases}
    if isinstance(found.get("dry"), dict):
        found["dry"] = Dry(**found["dry"])
    return found


def _result(reply: Reply) -> dict[str, Any]:
    facts = {"text": reply.text, "prompt_ids": reply.prompt_ids, "ids": reply.ids, "finish_reason": reply.finish_reason}
    timings = {} if reply.timings is None else asdict(reply.timings)
    asked: dict[str, Any] = {"stop_string": reply.stop_string, "logprobs": [asdict(one) for one in reply.logprobs]}
    more: dict[str, Any] = {name: value for name, value in asked.items() if value}
    if reply.speculation is not None:
        more["speculation"] = asdict(reply.speculation)
    return {**facts, "reused_tokens": reply.reused_tokens, **timings, **more}


def _info() -> dict[str, Any]:
    """What is known of the device and the model; None where there is none."""
    found: dict[str, Any] = {"adapter": None, "model": None}
    if _device is not None:
        gpu = _device.gpu
        about = {"features": sorted(gpu.features), "target": gpu.target, "why": gpu.why, "limits": dict(gpu.limits)}
        found |= {"adapter": dict(gpu.info), **about, "stats": _device.stats()}
    if _model is not None:
        named = {"architecture": _model.config.architecture, "context_tokens": _model.capacity}
        found["model"] = {**named, "load_ms": _model.load_ms, "chats": _model.template is not None}
        found["model"] |= asdict(_model.loaded)
    return found


def _tokens(of: str | list[int], *, add_special: bool) -> list[int] | str:
    tokenizer = _loaded().tokenizer
    if isinstance(of, str):
        return tokenizer.encode(of, add_special=add_special)
    return tokenizer.decode(of, skip_special=False)


async def _free() -> None:
    global _model, _device
    model, device, _model, _device = _model, _device, None, None
    if model is not None:
        await model.reset()
        model.dispose()
    if device is not None:
        device.close()


async def _bench(options: dict[str, Any], progress: Callable[[int, int], object]) -> dict[str, Any]:
    from webxpu.bench.model import measure  # a page that only chats needs nothing of it

    return await measure(_loaded(), **options, progress=progress)


def _loaded() -> Model:
    if _model is None:
        raise ShapeError("this worker has no model; load one first")
    return _model


def _described(error: Exception) -> dict[str, str]:
    """Name and text. What is none of our own errors is a fault, and its traceback goes to the console."""
    if not type(error).__module__.startswith("webxpu."):
        traceback.print_exception(error)
    return {"name": type(error).__name__, "message": str(error)}
