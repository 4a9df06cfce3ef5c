"""How long a generation took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Timings:
    """Wall-clock figures of a generation, measured from Python.

    prefill_ms            from the call to the first new id
    prefill_tokens        tokens of the prompt that had to run; the others were in the cache
    decode_tokens_per_s   over the ids after the first ones that came; 0 where none came after them
    gpu_ms                sum of GPU timestamps of the token loop, where they were asked for
    """

    load_ms: float
    prefill_ms: float
    prefill_tokens: int
    prefill_tokens_per_s: float
    decode_ms: float
    decode_tokens: int
    decode_tokens_per_s: float
    dispatches_per_token: int
    gpu_ms: float | None = None


def timed(
    marks: Sequence[tuple[float, int]],
    *,
    fed: int,
    load_ms: float,
    dispatches_per_token: int,
    gpu_ms: float | None = None,
) -> Timings:
    """Timings from `marks`: (seconds, ids so far) when the call began and at each arrival, of which there was
    one at least."""
    (began, _), (first, first_ids), (last, all_ids) = marks[0], marks[1], marks[-1]
    prefill_s, decode_s = first - began, last - first
    decoded = all_ids - first_ids
    return Timings(
        load_ms=load_ms,
        prefill_ms=prefill_s * 1e3,
        prefill_tokens=fed,
        prefill_tokens_per_s=fed / prefill_s if prefill_s else 0.0,
        decode_ms=decode_s * 1e3,
        decode_tokens=decoded,
        decode_tokens_per_s=decoded / decode_s if decode_s else 0.0,
        dispatches_per_token=dispatches_per_token,
        gpu_ms=gpu_ms,
    )
