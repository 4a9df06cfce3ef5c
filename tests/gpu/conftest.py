"""Operations that a test defines are gone after it."""

import pytest

from webxpu.gpu.op import OPS


@pytest.fixture(autouse=True)
def only_library_ops():
    before = dict(OPS)
    yield
    OPS.clear()
    OPS.update(before)
