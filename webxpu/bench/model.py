"""How fast a loaded model is: tokens a second, beside the least time that its bytes take on the same GPU.

Runs where the model is, in the browser's Python.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from webxpu.bench.roofline import read_probe
from webxpu.bench.traffic import Moved, Traffic, weight_bytes
from webxpu.errors import ShapeError
from webxpu.gpu.device import Device
from webxpu.gpu.plan import out
from webxpu.gpu.program import Program, bind, encode, tensor_range
from webxpu.llm.chunks import plan_chunks
from webxpu.llm.head import Choice
from webxpu.llm.model import Model
from webxpu.llm.state import State
from webxpu.llm.timings import Timings

PROMPTS = (128, 512)
DECODE_PROMPT, DECODE_TOKENS = 128, 128
ROUNDS = 5
# Copies of the read probe in one submit, so that the device raises its clock, and runs of which the least counts.
READ_COPIES, READ_ROUNDS = 40, 3
PROFILE_ROUNDS = 10
GREEDY = Choice(greedy=True)


@dataclass(frozen=True)
class Speed:
    """tokens_per_s        by the wall clock, the median of the rounds
    spread              of the rounds, (largest - least) / median
    gpu_ms              by GPU timestamps: of a token where tokens are decoded, of the whole prompt where it is fed
    dispatches          of a token, or of the prompt
    weight_bytes        that are read at least: each weight once a token, or once a chunk of the prompt
    of_weights          the time that these take at the device's read ceiling, as a part of the wall clock's
    of_dispatches       the sum over all dispatches of the larger of their bytes' time and 3.5 us, as a part of it
    """

    tokens: int
    tokens_per_s: float
    spread: float
    gpu_ms: float
    dispatches: int
    weight_bytes: int
    of_weights: float
    of_dispatches: float


async def measure(
    model: Model,
    *,
    prompts: Sequence[int] = PROMPTS,
    decode_prompt: int = DECODE_PROMPT,
    decode_tokens: int = DECODE_TOKENS,
    rounds: int = ROUNDS,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Measures a model that nothing else uses; it has forgotten its conversation afterwards.

    prompts         lengths of prompts that are fed, in tokens
    decode_prompt, decode_tokens   the length of the prompt behind which tokens are decoded, and how many
    progress        called with (rounds done, rounds in all)

    Returns plain data: read_bytes_s, load_ms, weight_bytes by type, prefill and decode as `Speed`, and the kernels of a
    decoded token. Raises ShapeError where the context is too small, Unsupported where the device has no timestamps.
    """
    needed = max(*(n + 1 for n in prompts), decode_prompt + decode_tokens + PROFILE_ROUNDS)
    if model.capacity < needed:
        raise ShapeError(f"measure: the model's context must be at least {needed} tokens, got {model.capacity}")
    total, done = (len(prompts) + 1) * (rounds + 1) + 1, 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    await _generated(model, decode_prompt, decode_tokens)  # the first run of a program takes longer
    read_bytes_s = await read_ceiling(model.device)
    step()
    bench = _Bench(model, read_bytes_s, rounds, step)
    prefill = [await bench.prefill(count) for count in prompts]
    decode, kernels = await bench.decode(decode_prompt, decode_tokens)
    await model.reset()
    types: Counter[str] = Counter()
    for tensor in {id(t.storage): t for t in model.tensors.values()}.values():
        types[tensor.dtype] += tensor.nbytes
    return {
        "read_bytes_s": read_bytes_s,
        "load_ms": model.load_ms,
        "weight_bytes": dict(types),
        "prefill": [asdict(speed) for speed in prefill],
        "decode": asdict(decode),
        "kernels": kernels,
    }


async def read_ceiling(device: Device) -> float:
    """Bytes a second that the device reads from memory at most."""
    probe = read_probe(int(device.gpu.limits["maxStorageBufferBindingSize"]))
    [fill] = probe.args
    source, result = device.empty(fill.shape, fill.dtype), device.empty(probe.output.shape, probe.output.dtype)
    limits, programs = dict(device.gpu.limits), []
    try:
        whole = [tensor_range(source)], [tensor_range(result)]
        for label, calls in (
            ("fill", bind(fill.plan(device.gpu, out(0)), [], whole[0], [])),
            ("read", bind(probe.plan, *whole, []) * READ_COPIES),
        ):
            programs.append(await device.bridge.compile(device.handle, encode(label, calls, limits)))
        device.submit([["run", programs[0]]])
        report = await device.bridge.profile(programs[1], READ_ROUNDS)
        return probe.work / (float(min(report["ms"])) / 1e3)
    finally:
        for program in programs:
            device.bridge.free_program(program)
        source.free()
        result.free()


class _Bench:
    """Measures one model against one read ceiling."""

    def __init__(self, model: Model, read_bytes_s: float, rounds: int, step: Callable[[], None]) -> None:
        self.model = model
        self.engine = model.engine
        self.weights = list(model.tensors.values())
        self.read_bytes_s = read_bytes_s
        self.rounds = rounds
        self.step = step

    async def prefill(self, count: int) -> Speed:
        seconds = []
        for _ in range(self.rounds):
            timings = await _generated(self.model, count, 1)
            seconds.append(timings.prefill_ms / 1e3)  # to the first id, which the prompt's last program chooses
            self.step()
        programs, moved, gpu_ms, read = self.engine.programs, list[Traffic](), 0.0, 0
        chunks = plan_chunks(0, count, programs.sizes)
        runs = [(chunk, programs.prefill(chunk.size)) for chunk in chunks]
        runs.append((chunks[-1], programs.choose(chunks[-1].size, GREEDY)))
        for chunk, program in runs:
            found = self._moved(program, chunk.rows, chunk.start + chunk.rows)
            moved += found
            read += weight_bytes(found)
            gpu_ms += sum(await self._profiled(program, chunk.start, chunk.rows))
        self.step()
        return self._speed(count, [count / s for s in seconds], count, gpu_ms, moved, read)

    async def decode(self, prompt: int, count: int) -> tuple[Speed, list[dict[str, Any]]]:
        rates = []
        for _ in range(self.rounds):
            timings = await _generated(self.model, prompt, count)
            rates.append(timings.decode_tokens_per_s)
            self.step()
        stamped = await _generated(self.model, prompt, count, timestamps=True)
        program = self.engine.programs.decode(GREEDY)
        moved = self._moved(program, 1, prompt + count // 2)
        assert stamped.gpu_ms is not None
        gpu_ms = stamped.gpu_ms / (count - 1)  # the first of them is the prompt's
        times = await self._profiled(program, prompt + count // 2, 1)
        self.step()
        return self._speed(count, rates, 1, gpu_ms, moved, weight_bytes(moved)), _by_kernel(moved, times)

    def _moved(self, program: Program, rows: int, tokens: int) -> list[Traffic]:
        return Moved.new(self.model.config, self.weights, self.engine.cache, rows, tokens).of(program)

    async def _profiled(self, program: Program, position: int, rows: int) -> list[float]:
        """Milliseconds of each dispatch of a program that runs at a position."""
        self.engine.submit(
            self.engine.standing(State(position=position, rows=rows, capacity=self.engine.cache.capacity))
        )
        return [ms for _, ms in await program.profile(PROFILE_ROUNDS)]

    def _speed(
        self, tokens: int, rates: list[float], per: int, gpu_ms: float, moved: list[Traffic], read: int
    ) -> Speed:
        """A speed from the rates of the rounds; `moved`, `read` and `gpu_ms` are of `per` tokens."""
        rate = statistics.median(rates)
        seconds = per / rate
        return Speed(
            tokens=tokens,
            tokens_per_s=rate,
            spread=(max(rates) - min(rates)) / rate,
            gpu_ms=gpu_ms,
            dispatches=len(moved),
            weight_bytes=read,
            of_weights=read / self.read_bytes_s / seconds,
            of_dispatches=sum(m.least_seconds(self.read_bytes_s) for m in moved) / seconds,
        )


def _by_kernel(moved: Sequence[Traffic], times: Sequence[float]) -> list[dict[str, Any]]:
    """The dispatches of a step together by kernel, the longest first."""
    rows: dict[str, dict[str, Any]] = {}
    for one, ms in zip(moved, times, strict=True):
        row = rows.setdefault(one.kernel, {"kernel": one.kernel, "dispatches": 0, "ms": 0.0, "bytes": 0})
        row["dispatches"] += 1
        row["ms"] += ms
        row["bytes"] += one.nbytes
    return sorted(rows.values(), key=lambda row: -row["ms"])


_prompts = itertools.count()


async def _generated(model: Model, prompt: int, count: int, *, timestamps: bool = False) -> Timings:
    """Timings of `count` greedy tokens behind a prompt that no other began like, so that the cache has none of it."""
    await model.reset()
    first = 31 * next(_prompts) + 13
    ids = [(7919 * i + first) % model.config.vocab for i in range(prompt)]
    generation = model.generate(ids, max_tokens=count, stop_ids=[], timestamps=timestamps)
    async for _ in generation:
        pass
    assert generation.timings is not None
    return generation.timings
