"""The state of a sequence on the GPU: what changes from step to step, 64 words that kernels read and the last kernel of
a step moves on. `kernels/_with/state.wgsl` is the same table in WGSL; a test compares them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import ShapeError

WORDS = 64
MAX_STOPS = 16

# Word offsets. Words 12 to 15 and 32 to 63 are reserved and zero.
POSITION = 0
ROWS = 1
STEP = 2
DONE = 3
SEED_LO = 4
SEED_HI = 5
TOP_K = 6
STOP_COUNT = 7
TEMPERATURE = 8
TOP_P = 9
MIN_P = 10
CAPACITY = 11
STOPS = 16

Words = NDArray[np.uint32]


@dataclass
class State:
    """The state as named values.

    position     position of this step's first row
    rows         rows of this step that are valid; the rows of a program past them are padding
    step         tokens made so far, which is also the number of the next draw
    done         a stop id came, or the capacity is used up: nothing moves any more
    seed         64 bits, the key of the random numbers
    top_k        0 keeps all tokens; see `webxpu.ops.sample` for this and the three below
    temperature  0 picks the most likely token
    top_p        1 keeps all tokens
    min_p        0 keeps all tokens
    capacity     tokens that cache and history can hold
    stops        ids that end the sequence, at most 16
    """

    position: int = 0
    rows: int = 1
    step: int = 0
    done: bool = False
    seed: int = 0
    top_k: int = 0
    temperature: float = 0.0
    top_p: float = 1.0
    min_p: float = 0.0
    capacity: int = 0
    stops: Sequence[int] = ()

    def to_words(self) -> Words:
        """The (64,) uint32 array that goes to the GPU. Raises ShapeError where there are too many stop ids."""
        if len(self.stops) > MAX_STOPS:
            raise ShapeError(f"State: stops must be at most {MAX_STOPS} ids, got {len(self.stops)}")
        words = np.zeros(WORDS, np.uint32)
        words[POSITION], words[ROWS], words[STEP], words[DONE] = self.position, self.rows, self.step, self.done
        words[SEED_LO], words[SEED_HI] = self.seed & 0xFFFFFFFF, self.seed >> 32
        words[TOP_K], words[STOP_COUNT], words[CAPACITY] = self.top_k, len(self.stops), self.capacity
        floats = np.array([self.temperature, self.top_p, self.min_p], np.float32)
        words[TEMPERATURE : MIN_P + 1] = floats.view(np.uint32)
        words[STOPS : STOPS + len(self.stops)] = self.stops
        return words

    @classmethod
    def from_words(cls, words: Words) -> State:
        """The values in a (64,) uint32 array."""
        temperature, top_p, min_p = (float(v) for v in words[TEMPERATURE : MIN_P + 1].view(np.float32))
        return cls(
            position=int(words[POSITION]),
            rows=int(words[ROWS]),
            step=int(words[STEP]),
            done=bool(words[DONE]),
            seed=int(words[SEED_LO]) | int(words[SEED_HI]) << 32,
            top_k=int(words[TOP_K]),
            temperature=temperature,
            top_p=top_p,
            min_p=min_p,
            capacity=int(words[CAPACITY]),
            stops=tuple(int(i) for i in words[STOPS : STOPS + int(words[STOP_COUNT])]),
        )

    def positions(self, rows: int) -> NDArray[np.int64]:
        """Positions of the rows that are live: neither padding nor past the capacity."""
        live = min(rows, self.rows, max(0, self.capacity - self.position))
        return np.arange(self.position, self.position + live)
