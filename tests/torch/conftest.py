"""Random comparisons with PyTorch and its kin. `make test-torch` runs them in an environment of their own."""

from __future__ import annotations

import zlib

import numpy as np
import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=0, help="another number draws other shapes and values (0)")


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers of the test's own, the same in each run; a failure shows their seed."""
    seed = (request.config.getoption("--seed"), zlib.crc32(request.node.name.encode()))
    print(f"rng is np.random.default_rng({seed})")
    return np.random.default_rng(seed)
