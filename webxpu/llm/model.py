"""A language model on a GPU: loaded from one file, then asked for tokens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from webxpu.errors import Unsupported
from webxpu.gpu.device import Device, open_device
from webxpu.gpu.program import Program
from webxpu.llm import head
from webxpu.llm.cache import Cache
from webxpu.llm.checkpoint import Checkpoint, open_checkpoint
from webxpu.llm.config import Config
from webxpu.llm.generate import Engine, Generation, Programs
from webxpu.llm.sampler import Sampling, check_whole
from webxpu.llm.source import Source
from webxpu.llm.weights import allocate, upload
from webxpu.text.hf_tokenizer import Tokenizer

# Ways in which decode attention splits its keys, so that one row gives a GPU enough workgroups.
ATTENTION_PARTS = 16
# Rows of the prefill programs. Padding costs a CPU what it would cost a GPU to read the weights once more.
CHUNK_ROWS = (256, 64, 16)
CHUNK_ROWS_CPU = (16,)

Progress = Callable[[int, int], object]


class Model:
    """A loaded model. Made by `await webxpu.load(source)`.

    config      the architecture's numbers
    tokenizer   text to ids and back; raises Unsupported, with the reason, where webxpu knows none like the model's
    template    the model's chat template, or None
    eos_ids     ids that end a reply
    identity    a hash of the configuration and the table of weights
    capacity    tokens that prompt and reply may have together
    load_ms     how long loading took
    """

    def __init__(
        self,
        engine: Engine,
        checkpoint: Checkpoint,
        *,
        tensors: Mapping[str, Any],
        owns_device: bool,
        load_ms: float,
    ) -> None:
        self.engine = engine
        self.config = engine.config
        self.device = engine.device
        self.capacity = engine.cache.capacity
        self._checkpoint = checkpoint
        self.template = checkpoint.template
        self.eos_ids = checkpoint.eos_ids
        self.identity = checkpoint.identity
        self.load_ms = load_ms
        self._tensors = tensors
        self._owns_device = owns_device

    @property
    def tokenizer(self) -> Tokenizer:
        if self._checkpoint.tokenizer is None:
            raise Unsupported(self._checkpoint.no_tokenizer)
        return self._checkpoint.tokenizer

    def generate(
        self,
        ids: Sequence[int],
        *,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        seed: int | None = None,
        stop_ids: Sequence[int] | None = None,
        timestamps: bool = False,
    ) -> Generation:
        """The ids that follow `ids`: `async for some in model.generate(...)`. What the cache holds is not fed again.

        max_tokens  None runs until a stop id or the end of the context
        stop_ids    None takes the file's own; a stop id is never among the ids that come
        timestamps  measure the GPU's own time too, where the device can

        The other options are those of `webxpu.llm.sampler.Sampling`. Raises ShapeError at once for a wrong one.
        """
        return Generation(
            self.engine,
            ids,
            sampling=Sampling(temperature, top_k, top_p, min_p, seed),
            max_tokens=max_tokens,
            stop_ids=self.eos_ids if stop_ids is None else stop_ids,
            timestamps=timestamps,
            load_ms=self.load_ms,
        )

    async def reset(self) -> None:
        """Ends what runs and forgets the conversation: the next prompt is fed from its first token."""
        if self.engine.active is not None:
            await self.engine.active.stop()
        self.engine.ledger.clear()

    def free(self) -> None:
        """Gives all GPU memory of the model back; it can't be used afterwards."""
        for program in self.engine.programs.all():
            program.free()
        for tensor in [*self._tensors.values(), *self.engine.cache.tensors()]:
            tensor.free()
        if self._owns_device:
            self.device.close()


async def load(
    source: str, *, device: Device | None = None, context_tokens: int = 4096, progress: Progress | None = None
) -> Model:
    """Loads a model straight onto the GPU; no weight passes through Python's memory.

    source          the URL of a GGUF file (a split model: of its first part), or of a Hugging Face folder with a "/" at
                    its end, see `webxpu.llm.checkpoint.open_checkpoint`; "file:NAME" for a File or Blob that the page
                    registered, "opfs:PATH" for a file or folder in the origin's private file system
    device          where to load it; None opens one, which then belongs to the model
    context_tokens  tokens that prompt and reply may have together, at most what the model was made for
    progress        called with (bytes loaded, bytes in all)

    Raises FormatError for a broken file, Unsupported for one that this version can't run, FetchError, OutOfMemory.
    """
    check_whole("load", "context_tokens", context_tokens, 2)
    Source.parse(source)
    began = time.perf_counter()
    owned = device is None
    device = device or await open_device()
    try:
        checkpoint = await open_checkpoint(source, device.bridge)
        model = await _build(device, checkpoint, context_tokens, progress, owned)
    except BaseException:
        if owned:
            device.close()
        raise
    model.load_ms = (time.perf_counter() - began) * 1e3
    return model


async def _build(
    device: Device, checkpoint: Checkpoint, context_tokens: int, progress: Progress | None, owned: bool
) -> Model:
    architecture, config, weights = checkpoint.architecture, checkpoint.config, checkpoint.weights
    made: list[Any] = []  # tensors and programs, to be freed where something fails

    def keep(tensor: Any) -> Any:
        made.append(tensor)
        return tensor

    try:
        tensors = {name: keep(tensor) for name, tensor in allocate(device, weights).items()}
        cache = Cache.new(
            config,
            min(config.context_length, context_tokens),
            empty=lambda shape, dtype: keep(device.empty(shape, dtype)),
            put=lambda array: keep(device.tensor(array)),
        )
        programs = record(device, architecture, config, tensors, cache)
        made += programs.all()
        await _together(upload(device, checkpoint.source, weights, tensors, progress), compile_all(programs))
    except BaseException:
        for thing in made:
            thing.free()
        raise
    engine = Engine(config, device, cache, programs)
    return Model(engine, checkpoint, tensors=tensors, owns_device=owned, load_ms=0.0)


def record(device: Device, architecture: Any, config: Config, tensors: Mapping[str, Any], cache: Cache) -> Programs:
    """Every program that a conversation needs, so that no later prompt compiles anything."""
    prefill: dict[int, Program] = {}
    choose: dict[tuple[int, bool], Program] = {}
    decode: dict[bool, Program] = {}
    on_cpu = device.gpu.target == "cpu"
    for rows in CHUNK_ROWS_CPU if on_cpu else CHUNK_ROWS:
        with device.record(f"prefill of {rows}") as prefill[rows]:
            x = architecture.forward(config, tensors, cache, rows=rows, parts=1)
        for greedy in (True, False):
            with device.record(f"choice after {rows}") as choose[rows, greedy]:
                head.choose(config, tensors, cache, x, greedy=greedy)
    for greedy in (True, False):
        with device.record("decode" if greedy else "decode and sample") as decode[greedy]:
            x = architecture.forward(config, tensors, cache, rows=1, parts=1 if on_cpu else ATTENTION_PARTS)
            head.choose(config, tensors, cache, x, greedy=greedy)
            del x  # a tensor that is still referenced keeps its buffer
    return Programs(prefill, choose, decode)


async def compile_all(programs: Programs) -> None:
    """Compiles them in parallel; what reads another program's output comes second."""
    await _together(*(program.compile() for program in [*programs.prefill.values(), *programs.decode.values()]))
    await _together(*(program.compile() for program in programs.choose.values()))


async def _together(*work: Coroutine[Any, Any, Any]) -> None:
    """Runs coroutines side by side. Where one fails, the others still end before its error is raised."""
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
