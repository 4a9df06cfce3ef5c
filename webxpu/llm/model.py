"""A language model on a GPU: loaded from one file, then asked for tokens."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Ids
from typing import Any

from webxpu.errors import ShapeError, Unsupported
from webxpu.gpu.device import Device, open_device
from webxpu.llm.batch import Together, free_lanes
from webxpu.llm.cache import Cache
from webxpu.llm.checkpoint import Checkpoint, open_checkpoint
from webxpu.llm.config import Config
from webxpu.llm.engine import Engine
from webxpu.llm.ids import checked_ids
from webxpu.llm.programs import CHAT_CHOICES, Programs, recorder, together
from webxpu.llm.request import Request
from webxpu.llm.sampler import Sampling, check_whole
from webxpu.llm.sequence import Sequence
from webxpu.llm.source import LoadReport, Source, loading
from webxpu.llm.weights import allocate, upload
from webxpu.ops.cache import PAGE_TOKENS
from webxpu.quant.kv import KV_TYPES
from webxpu.text.tokenizers import AnyTokenizer

# Ways in which decode attention splits its keys, so that one row gives a GPU enough workgroups.
ATTENTION_PARTS = 16
# Rows of the prefill programs. Padding costs a CPU what it would cost a GPU to read the weights once more.
CHUNK_ROWS = (256, 64, 16)
CHUNK_ROWS_CPU = (16,)

Progress = Callable[[int, int], object]


class Model(Sequence):
    """A loaded model, which is also its first conversation. Made by `await webxpu.load(source)`.

    It has what a `Sequence` has: `generate`, `forward`, `prefill`, `save`, `restore`, `reset`; of its own `sequence`,
    `generate_together`, `capabilities` and `dispose`.

    config      the architecture's numbers
    tokenizer   text to ids and back; raises Unsupported, with the reason, where webxpu knows none like the model's
    template    the model's chat template, or None
    eos_ids     ids that end a reply
    identity    a hash of the configuration and the table of weights
    capacity    tokens that prompt and reply may have together
    tensors     the weights on the GPU, by name
    load_ms     how long loading took
    loaded      where the files' bytes came from: the network or the browser's storage
    device      where it runs
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
        super().__init__(engine, stop_ids=checkpoint.eos_ids, load_ms=load_ms)
        self.config = engine.config
        self.device = engine.device
        self.capacity = engine.cache.capacity
        self._checkpoint = checkpoint
        self.template = checkpoint.template
        self.eos_ids = checkpoint.eos_ids
        self.identity = checkpoint.identity
        self.tensors = tensors
        self._owns_device = owns_device
        self.loaded = LoadReport(0, 0, ())

    @property
    def tokenizer(self) -> AnyTokenizer:
        if self._checkpoint.tokenizer is None:
            raise Unsupported(self._checkpoint.no_tokenizer)
        return self._checkpoint.tokenizer

    def sequence(self) -> Sequence:
        """Another conversation with the same weights. It takes turns with the others on the GPU, and they share the
        pages of the cache: `load(..., sequences=n)` makes room for n of full length, and where there is less, the one
        that was used least recently is fed anew the next time."""
        return Sequence(self.engine, stop_ids=self.eos_ids, load_ms=self.load_ms)

    def generate_together(
        self,
        prompts: Ids[Ids[int]],
        *,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        seed: int | None = None,
        top_n_sigma: float = 0.0,
        repetition_penalty: float = 1.0,
        presence_penalty: float = 0.0,
        frequency_penalty: float = 0.0,
        no_repeat_ngram_size: int = 0,
        logit_bias: Mapping[int, float] | None = None,
        stop_ids: Ids[int] | None = None,
    ) -> Together:
        """The ids that follow 2 to 8 prompts, decoded together: `async for index, ids in model.generate_together(...)`.
        Each prompt's are those that `generate` gives for it alone; most weights are multiplied by all rows at once.

        The options are those of `generate` of the same name, one for all prompts; a seed too. The others are not there:
        dry, constraint and sampler are steps of the host, drafts are rows of their own, and log-probabilities are not
        read back. The cache must hold all prompts with their replies: `load(..., sequences=n)` makes room for n of full
        length. The window must not roll. Raises ShapeError and ContextOverflow.
        """
        if max_tokens is not None:
            check_whole("generate_together", "max_tokens", max_tokens, 1)
        sampling = Sampling(
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            seed=seed,
            top_n_sigma=top_n_sigma,
            repetition_penalty=repetition_penalty,
            presence_penalty=presence_penalty,
            frequency_penalty=frequency_penalty,
            no_repeat_ngram_size=no_repeat_ngram_size,
            logit_bias=logit_bias or {},
        )
        return Together(
            self.engine,
            [checked_ids(ids, self.config.vocab, "generate_together") for ids in prompts],
            asked=Request(
                self.engine,
                sampling=sampling,
                stop_ids=self.eos_ids if stop_ids is None else stop_ids,
                call="generate_together",
            ),
            max_tokens=max_tokens,
        )

    @property
    def capabilities(self) -> dict[str, Any]:
        """What was loaded, and where it runs.

        kv                how keys and values are kept
        capacity, sinks   tokens that a conversation may have in the cache, and those that a rolling window never drops
        rolling           whether the window rolls
        pages             of 64 tokens: in all, held by conversations, kept for prompts to come
        cache_bytes       what they take on the GPU
        adapter, target, features, limits   see `webxpu.gpu.target.Gpu`
        timestamps        whether `generate(timestamps=True)` works
        """
        cache, pool, gpu = self.engine.cache, self.engine.pool, self.device.gpu
        return {
            "kv": cache.kv,
            "capacity": cache.capacity,
            "sinks": cache.sinks,
            "rolling": cache.sinks > 0,
            "pages": {"all": pool.pages, "held": pool.held, "kept": pool.kept},
            "cache_bytes": sum(layer.nbytes for layer in cache.layers),
            "adapter": dict(gpu.info),
            "target": gpu.target,
            "features": sorted(gpu.features),
            "limits": dict(gpu.limits),
            "timestamps": gpu.timestamps,
        }

    def dispose(self) -> None:
        """Gives all GPU memory of the model back; it can't be used afterwards."""
        if self.engine.active is not None:
            self.engine.active.abort()
        for program in self.engine.programs.all():
            program.free()
        free_lanes(self.engine)
        for tensor in [*self.tensors.values(), *self.engine.cache.tensors(), *self.engine.programs.tables.all()]:
            tensor.free()
        if self._owns_device:
            self.device.close()


async def load(
    source: str,
    *,
    device: Device | None = None,
    context_tokens: int = 4096,
    kv: str = "f32",
    sink_tokens: int = 0,
    sequences: int = 1,
    cache: bool = True,
    progress: Progress | None = None,
) -> Model:
    """Loads a model straight onto the GPU; no weight passes through Python's memory.

    source          the URL of a GGUF file (a split model: of its first part), or of a Hugging Face folder with a "/" at
                    its end, see `webxpu.llm.checkpoint.open_checkpoint`; "file:NAME" for a File or Blob that the page
                    registered, "opfs:PATH" for a file or folder in the origin's private file system
    device          where to load it; None opens one, which then belongs to the model
    context_tokens  tokens that prompt and reply may have together, at most what the model was made for
    kv              how keys and values are kept: "f32", "f16" in half the memory, "q8" in little more than a quarter
    sink_tokens     above 0 the context rolls: where it is full, its oldest 64 tokens are dropped, but never the first
                    `sink_tokens`, rounded up to whole pages of 64; `context_tokens` is rounded down to whole pages then
    sequences       conversations of full length that the cache has room for
    cache           keep files from the network in the browser's storage, and read them from there as long as the server
                    has the same version; see `webxpu.cached` and `webxpu.forget`
    progress        called with (bytes loaded, bytes in all); from the start again where the server changed a file

    Raises FormatError for a broken file, TemplateError for a broken chat template, Unsupported for a model that this
    version can't run, FetchError, OutOfMemory; all GPU memory is given back then, and where the task is cancelled.
    Warns with StorageWarning where files can't be kept.
    """
    check_whole("load", "context_tokens", context_tokens, 2)
    if kv not in KV_TYPES:
        raise ShapeError(f"load: kv must be one of {', '.join(KV_TYPES)}, got {kv!r}")
    check_whole("load", "sink_tokens", sink_tokens, 0)
    check_whole("load", "sequences", sequences, 1)
    where = Source.parse(source)
    began = time.perf_counter()
    owned = device is None
    device = device or await open_device()
    try:
        room = {"context_tokens": context_tokens, "kv": kv, "sink_tokens": sink_tokens, "sequences": sequences}

        async def read(files: Source) -> Model:
            checkpoint = await open_checkpoint(files, device.bridge)
            return await _build(device, checkpoint, room, progress, owned)

        model, report = await loading(where, device.bridge, read, cache=cache)
    except BaseException:
        if owned:
            device.close()
        raise
    model.loaded = report
    model.load_ms = (time.perf_counter() - began) * 1e3
    return model


async def _build(
    device: Device, checkpoint: Checkpoint, room: Mapping[str, Any], progress: Progress | None, owned: bool
) -> Model:
    architecture, config, weights = checkpoint.architecture, checkpoint.config, checkpoint.weights
    capacity, sinks = window(config, room["context_tokens"], room["sink_tokens"])
    made: list[Any] = []  # tensors and programs, to be freed where something fails

    def keep(tensor: Any) -> Any:
        made.append(tensor)
        return tensor

    try:
        tensors = {name: keep(tensor) for name, tensor in allocate(device, weights).items()}
        cache = Cache.new(
            config,
            capacity,
            empty=lambda shape, dtype: keep(device.empty(shape, dtype)),
            put=lambda array: keep(device.tensor(array)),
            kv=room["kv"],
            sinks=sinks,
            sequences=room["sequences"],
        )
        on_cpu = device.gpu.target == "cpu"
        programs = Programs(
            recorder(device), architecture, config, tensors, cache,
            sizes=CHUNK_ROWS_CPU if on_cpu else CHUNK_ROWS, parts=1 if on_cpu else ATTENTION_PARTS,
            empty=device.empty,
        )  # fmt: skip
        first = [program for choice in CHAT_CHOICES for program in programs.needed(choice)]
        made += programs.all()
        uploading = upload(device, checkpoint.source, weights, tensors, progress, checkpoint.hashes)
        await together(uploading, programs.compile(first))
    except BaseException:
        for thing in made:
            thing.free()
        raise
    engine = Engine(config, device, cache, programs, identity=checkpoint.identity, tries_lookup=not on_cpu)
    return Model(engine, checkpoint, tensors=tensors, owns_device=owned, load_ms=0.0)


def window(config: Config, context_tokens: int, sink_tokens: int) -> tuple[int, int]:
    """Tokens that the cache has room for, and those that it never drops, which is 0 where it does not roll. Raises
    ShapeError where no page is left beside the sinks."""
    capacity = min(config.context_length, context_tokens)
    if not sink_tokens:
        return capacity, 0
    sinks = -(-sink_tokens // PAGE_TOKENS) * PAGE_TOKENS
    whole = capacity // PAGE_TOKENS * PAGE_TOKENS
    if whole < sinks + PAGE_TOKENS:
        raise ShapeError(
            f"load: sink_tokens must leave a page of {PAGE_TOKENS} tokens in the context of {capacity} tokens, "
            f"got {sink_tokens}"
        )
    return whole, sinks
