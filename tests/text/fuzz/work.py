"""Cases in chunks, which several processes take."""

from __future__ import annotations

import multiprocessing
import shlex
from collections.abc import Iterator
from multiprocessing.pool import Pool
from typing import NamedTuple

from tests.text.fuzz.broken import KINDS, problem
from tests.text.fuzz.compare import differences
from tests.text.fuzz.models import load
from tests.text.fuzz.texts import long_texts

CHUNK_CASES = 1000
# Broken files of these kinds are a name each, beside the models.
BROKEN = tuple(f"broken {kind}" for kind in KINDS)
LONG_NAMES = tuple(long_texts(["a"]))
Wrong = list[tuple[str, list[str]]]


class Chunk(NamedTuple):
    """Cases of one model by their seeds."""

    name: str
    seeds: list[str]


def cases(name: str, seed: str, texts: int, long: tuple[str, ...] = LONG_NAMES) -> Iterator[Chunk]:
    """Random texts of a model, and texts of 100 kB; or broken files of a kind."""
    for first in range(0, texts, CHUNK_CASES):
        yield Chunk(name, [f"{seed} {name} {index}" for index in range(first, min(first + CHUNK_CASES, texts))])
    if long and name not in BROKEN:
        yield Chunk(name, [f"{seed} long {what}" for what in long])


def run_chunk(chunk: Chunk) -> tuple[Chunk, Wrong]:
    """The cases in which the packages differ, and how."""
    found = ((seed, run_case(chunk.name, seed)) for seed in chunk.seeds)
    return chunk, [(seed, lines) for seed, lines in found if lines]


def run_case(name: str, seed: str) -> list[str]:
    """What differs in one case."""
    if name in BROKEN:
        wrong = problem(name.removeprefix("broken "), seed)
        return [wrong] if wrong else []
    return differences(load(name), seed)


def pool(processes: int) -> Pool:
    """Processes that begin empty: whatever threads this one has, they have none of them."""
    return multiprocessing.get_context("spawn").Pool(processes)


def command(name: str, seed: str) -> str:
    """What repeats one case."""
    return f"python -m tests.text.fuzz --only {shlex.quote(name)} --case {shlex.quote(seed)}:"
