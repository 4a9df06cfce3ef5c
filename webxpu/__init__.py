"""Operations and language models on the GPU of a browser, from Python.

    device = await webxpu.open_device()
    x = webxpu.ops.softmax(device.tensor([[1.0, 2.0, 3.0]]))  # on the GPU; an array is computed by NumPy
    print(await x.numpy())
    print(await webxpu.check(device))  # does this GPU compute what NumPy says?

    model = await webxpu.load("https://.../model.gguf")
    chat = webxpu.Chat(model)
    async for piece in chat.stream([{"role": "user", "content": "Hello"}]):
        print(piece, end="")

ops, Blocks, Tensor, open_device, check    operations, quantised weights, and the GPU that they run on
load, Model, Sequence, Chat                language models, their conversations, and text in and out of them
load_tokenizer                             a tokenizer without its model
Sampling, HostSampler, Dry                 how tokens are chosen: options, on the host, and a penalty on repetitions
cached, forget                             model files that are kept in the browser
errors                                     everything that is raised on purpose

Importing it touches neither JavaScript nor the GPU; each name below is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webxpu import errors as errors
    from webxpu import ops as ops
    from webxpu.chat.session import Chat as Chat
    from webxpu.gpu.device import open_device as open_device
    from webxpu.gpu.tensor import Tensor as Tensor
    from webxpu.llm.dry import Dry as Dry
    from webxpu.llm.host_sampler import HostSampler as HostSampler
    from webxpu.llm.load_tokenizer import load_tokenizer as load_tokenizer
    from webxpu.llm.model import Model as Model
    from webxpu.llm.model import load as load
    from webxpu.llm.sampler import Sampling as Sampling
    from webxpu.llm.sequence import Sequence as Sequence
    from webxpu.quant.ggml import Blocks as Blocks
    from webxpu.self_check import check as check
    from webxpu.stored import cached as cached
    from webxpu.stored import forget as forget

_MODULES = ("errors", "ops")
_HOMES = {
    "Blocks": "webxpu.quant.ggml",
    "Chat": "webxpu.chat.session",
    "Dry": "webxpu.llm.dry",
    "HostSampler": "webxpu.llm.host_sampler",
    "Model": "webxpu.llm.model",
    "Sampling": "webxpu.llm.sampler",
    "Sequence": "webxpu.llm.sequence",
    "Tensor": "webxpu.gpu.tensor",
    "cached": "webxpu.stored",
    "check": "webxpu.self_check",
    "forget": "webxpu.stored",
    "load": "webxpu.llm.model",
    "load_tokenizer": "webxpu.llm.load_tokenizer",
    "open_device": "webxpu.gpu.device",
}

__all__ = [
    "Blocks",
    "Chat",
    "Dry",
    "HostSampler",
    "Model",
    "Sampling",
    "Sequence",
    "Tensor",
    "cached",
    "check",
    "errors",
    "forget",
    "load",
    "load_tokenizer",
    "open_device",
    "ops",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"webxpu.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'webxpu' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
