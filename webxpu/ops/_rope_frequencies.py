"""How fast the pairs of channels turn in a rotary position embedding, plain and stretched to longer contexts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import ShapeError
from webxpu.gpu.op import check

F64 = NDArray[np.float64]


@dataclass(frozen=True)
class NtkScaling:
    """A larger base, so that the slowest pair turns `factor` times slower and the fastest as before (static NTK)."""

    factor: float


@dataclass(frozen=True)
class YarnScaling:
    """YaRN, arXiv 2309.00071: pairs that turn fewer than `beta_slow` times in the original context are slowed down by
    `factor`, those that turn more than `beta_fast` times are not, a ramp lies between. `attention_factor` multiplies
    cosine and sine; None takes 0.1 ln(factor) + 1."""

    factor: float
    original_context_length: int
    beta_fast: float = 32
    beta_slow: float = 1
    attention_factor: float | None = None


Scaling = NtkScaling | YarnScaling


class RopeFrequencies(NamedTuple):
    """Pair i turns by e + (e / interpolation - e) * clamp((i - ramp_low) / (ramp_high - ramp_low), 0, 1) a position,
    with e = base ** (-2 i / D)."""

    base: float
    interpolation: float = 1
    ramp_low: float = 0
    ramp_high: float = 1
    attention_factor: float = 1


def rope_frequency_params(d: int, *, base: float, scaling: Scaling | None = None) -> RopeFrequencies:
    """What a base and a scaling come to for heads of width D: as transformers' `modeling_rope_utils`.

    Raises ShapeError for an odd or too small `d`, a base of at most 1, and a scaling that is none.
    """
    return frequency_params("rope_frequency_params", d, base, scaling)


def llama3_freq_factors(
    d: int,
    *,
    base: float,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_context_length: int,
) -> NDArray[np.float32]:
    """Llama 3's scaling as divisors of the frequencies, (D / 2,) float32, for `rope_table`: pairs that turn fewer than
    `low_freq_factor` times in the original context are slowed down by `factor`, those that turn more than
    `high_freq_factor` times are not. GGUF files carry them as `rope_freqs.weight`. Raises ShapeError."""
    name = "llama3_freq_factors"
    plain = frequencies(d, frequency_params(name, d, base, None))
    check(1 <= factor < math.inf, name, "factor", "finite and at least 1", factor)
    check(low_freq_factor < high_freq_factor, name, "low_freq_factor", f"below {high_freq_factor}", low_freq_factor)
    length = original_context_length
    check(length >= 1, name, "original_context_length", "at least 1", length)
    turns = length * plain / (2 * math.pi)
    fast = np.clip((turns - low_freq_factor) / (high_freq_factor - low_freq_factor), 0, 1)
    return np.asarray(1 / ((1 - fast) / factor + fast), np.float32)


def frequencies(d: int, params: RopeFrequencies) -> F64:
    """The angle a position of every pair, (D / 2,)."""
    i = np.arange(d // 2)
    plain = np.float64(params.base) ** (-2 * i / d)
    ramp = np.clip((i - params.ramp_low) / (params.ramp_high - params.ramp_low), 0, 1)
    return np.asarray(plain + (plain / params.interpolation - plain) * ramp)


def frequency_params(op_name: str, d: int, base: float, scaling: object) -> RopeFrequencies:
    """`rope_frequency_params` for an op of another name. Raises ShapeError."""
    check(d >= 2 and d % 2 == 0, op_name, "d", "even and at least 2", d)
    check(base > 1, op_name, "base", "above 1", base)
    if scaling is None:
        return RopeFrequencies(base)
    if not isinstance(scaling, NtkScaling | YarnScaling):
        raise ShapeError(f"{op_name}: scaling must be None, NtkScaling or YarnScaling, got {scaling!r}")
    check(1 <= scaling.factor < math.inf, op_name, "scaling", "of a finite factor of at least 1", scaling)
    if isinstance(scaling, NtkScaling):
        check(d > 2, op_name, "d", "above 2 for NtkScaling", d)
        return RopeFrequencies(base * scaling.factor ** (d / (d - 2)))
    check(scaling.beta_fast >= scaling.beta_slow > 0, op_name, "scaling", "of beta_fast >= beta_slow > 0", scaling)
    rule = "of an original_context_length of at least 1"
    check(scaling.original_context_length >= 1, op_name, "scaling", rule, scaling)
    gain = scaling.attention_factor
    check(gain is None or math.isfinite(gain), op_name, "scaling", "of a finite attention_factor", scaling)
    low, high = (
        d * math.log(scaling.original_context_length / (2 * math.pi * turns)) / (2 * math.log(base))
        for turns in (scaling.beta_fast, scaling.beta_slow)
    )
    ramp_low, ramp_high = max(math.floor(low), 0), min(math.ceil(high), d - 1)  # d - 1, as upstream has it
    return RopeFrequencies(
        base,
        scaling.factor,
        ramp_low,
        ramp_high + 0.001 if ramp_high == ramp_low else ramp_high,  # never a division by zero
        0.1 * math.log(scaling.factor) + 1 if gain is None else gain,
    )
