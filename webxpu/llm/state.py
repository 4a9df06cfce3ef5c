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

# Word offsets. Words 14, 15 and 41 to 63 are reserved and zero.
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
EVICTED = 12
SINKS = 13
STOPS = 16
REPETITION = 32
PRESENCE = 33
FREQUENCY = 34
TOP_N_SIGMA = 35
NO_REPEAT = 36
BIASES = 37
NGRAM = 38
DRAFTS = 39
RUNS = 40

Words = NDArray[np.uint32]


@dataclass
class State:
    """The state as named values.

    position     position in the cache of this step's first row
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
    evicted      tokens that a rolling window has dropped: history[(evicted + position) % C] is the id at a position.
                 The history keeps the last C ids whatever was dropped, so once the window rolled it is not that of a
                 position within the sinks, which are never fed again; nothing reads it there
    sinks        tokens that a rolling window never drops, whole pages; 0 ends the sequence at the capacity instead
    repetition   1 changes nothing; see `webxpu.ops.penalize` for this and the five below
    presence     0 changes nothing
    frequency    0 changes nothing
    top_n_sigma  0 keeps all tokens
    no_repeat    length of the n-grams that must not come twice; 0 allows them
    biases       entries of the bias table that count
    ngram        the longest n-gram that prompt lookup looks for; see `webxpu.ops.draft` for this and the one below
    drafts       the most tokens that it drafts; 0 drafts none
    runs         steps made so far: fewer than `step` where drafts were accepted
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
    evicted: int = 0
    sinks: int = 0
    repetition: float = 1.0
    presence: float = 0.0
    frequency: float = 0.0
    top_n_sigma: float = 0.0
    no_repeat: int = 0
    biases: int = 0
    ngram: int = 0
    drafts: int = 0
    runs: int = 0

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
        words[EVICTED], words[SINKS] = self.evicted, self.sinks
        penalties = np.array([self.repetition, self.presence, self.frequency, self.top_n_sigma], np.float32)
        words[REPETITION : TOP_N_SIGMA + 1] = penalties.view(np.uint32)
        words[NO_REPEAT : RUNS + 1] = self.no_repeat, self.biases, self.ngram, self.drafts, self.runs
        return words

    @classmethod
    def from_words(cls, words: Words) -> State:
        """The values in a (64,) uint32 array."""
        temperature, top_p, min_p = (float(v) for v in words[TEMPERATURE : MIN_P + 1].view(np.float32))
        penalties = (float(v) for v in words[REPETITION : TOP_N_SIGMA + 1].view(np.float32))
        repetition, presence, frequency, top_n_sigma = penalties
        no_repeat, biases, ngram, drafts, runs = (int(v) for v in words[NO_REPEAT : RUNS + 1])
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
            evicted=int(words[EVICTED]),
            sinks=int(words[SINKS]),
            repetition=repetition,
            presence=presence,
            frequency=frequency,
            top_n_sigma=top_n_sigma,
            no_repeat=no_repeat,
            biases=biases,
            ngram=ngram,
            drafts=drafts,
            runs=runs,
        )

    def positions(self, rows: int) -> NDArray[np.int64]:
        """Positions of the rows that are live: neither padding nor past the capacity."""
        live = min(rows, self.rows, max(0, self.capacity - self.position))
        return np.arange(self.position, self.position + live)
