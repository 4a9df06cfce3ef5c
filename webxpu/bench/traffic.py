"""What the dispatches of a model's programs move: weights, the part of the cache that a step sees, activations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from webxpu.gpu.plan import Binding, Dispatch
from webxpu.gpu.program import Program, Step, bound_bytes
from webxpu.gpu.tensor import Storage, Tensor
from webxpu.llm.cache import Cache
from webxpu.llm.config import Config
from webxpu.ops.cache import PAGE_TOKENS

# The least that a dispatch takes on a GPU however little it does, in seconds: it waits for the one before it.
DISPATCH_S = 3.5e-6
# Ops that read the rows of the chosen experts alone.
EXPERTS = ("expert_gate_up", "expert_down")


@dataclass(frozen=True)
class Traffic:
    """One dispatch.

    nbytes    all that it reads and writes
    weights   of them those of weights, by the buffer and where in it they begin
    """

    kernel: str
    nbytes: int
    weights: Mapping[tuple[int, int], int]

    def least_seconds(self, read_bytes_s: float) -> float:
        """The least time that it takes where memory gives so many bytes a second."""
        return max(self.nbytes / read_bytes_s, DISPATCH_S)


def weight_bytes(dispatches: Iterable[Traffic]) -> int:
    """The bytes of weights that dispatches read, each once."""
    parts: dict[tuple[int, int], int] = {}
    for dispatch in dispatches:
        for part, nbytes in dispatch.weights.items():
            parts[part] = max(parts.get(part, 0), nbytes)
    return sum(parts.values())


@dataclass(frozen=True)
class Moved:
    """Counts the bytes of a program's dispatches.

    weights   the model's tensors
    cache     its cache, of which a step reads `tokens` tokens and writes `rows`
    experts   the part of all experts' weights that a step reads
    """

    weights: Sequence[Tensor]
    cache: Cache
    rows: int
    tokens: int
    experts: float = 1.0

    @classmethod
    def new(cls, config: Config, weights: Sequence[Tensor], cache: Cache, rows: int, tokens: int) -> Moved:
        """Where a model has experts, every row is taken to choose others."""
        chosen = min(1.0, rows * config.experts_used / config.experts) if config.experts else 1.0
        return cls(weights, cache, rows, tokens, chosen)

    def of(self, program: Program) -> list[Traffic]:
        """Each dispatch of a program, in order."""
        found = []
        for step in program.steps:
            for dispatch in step.plan.dispatches:
                weights: dict[tuple[int, int], int] = {}
                other = 0
                for binding in dict.fromkeys(dispatch.bindings):  # an argument may stand in for one that was left out
                    given = step.inputs[binding.index] if binding.source == "in" else None
                    nbytes = self._bytes(step, dispatch, binding)
                    if given is not None and _among(given[0], self.weights):
                        # Rows that are looked up are a part of their own, beside the whole that a head reads.
                        at = -1 if step.name == "embed" else given[2] + binding.offset
                        weights[id(given[0]), at] = nbytes
                    else:
                        other += nbytes
                found.append(Traffic(dispatch.kernel.label, other + sum(weights.values()), weights))
        return found

    def _bytes(self, step: Step, dispatch: Dispatch, binding: Binding) -> int:
        """The bytes that a dispatch reads or writes through a binding: of what it looks things up in, only those."""
        if binding.source == "scratch":
            return binding.nbytes or bound_bytes(step.plan.scratch[binding.index])
        if binding.source == "out":
            return binding.nbytes or bound_bytes(step.outputs[binding.index][1])
        given = step.inputs[binding.index]
        assert given is not None, "a dispatch binds no argument that was left out"
        storage, spec, _ = given
        whole, cache = binding.nbytes or bound_bytes(spec), self.cache
        if _among(storage, cache.layers):
            seen = self._seen(dispatch) if binding.access == "read" else self.rows
            return math.ceil(whole * seen / (spec.shape[0] * PAGE_TOKENS))
        if _among(storage, cache.tables):
            return math.ceil(whole * (self._seen(dispatch) if step.name == "attend" else self.rows) / spec.shape[0])
        if storage is cache.pages.storage:
            return 4 * -(-self.tokens // PAGE_TOKENS)
        if storage is cache.history.storage:
            return 4 * self.rows
        if _among(storage, self.weights) and step.name == "embed":
            return math.ceil(whole * self.rows / spec.shape[0])
        if _among(storage, self.weights) and step.name in EXPERTS:
            return math.ceil(whole * self.experts)
        return whole

    def _seen(self, dispatch: Dispatch) -> int:
        """Tokens of the cache that a dispatch reads: with a sliding window no more than it and the rows."""
        window = int(dispatch.constants.get("WINDOW", 0))
        return min(self.tokens, window + self.rows - 1) if window else self.tokens


def _among(storage: Storage, tensors: Sequence[Tensor]) -> bool:
    return any(storage is tensor.storage for tensor in tensors)
