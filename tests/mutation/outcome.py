"""A pytest plugin that prints the type of each exception, so that a failed assertion is told from an error."""

from __future__ import annotations

import pytest

MARK = "exception:"


def pytest_exception_interact(call: pytest.CallInfo[object]) -> None:
    assert call.excinfo is not None
    print(f"\n{MARK}{call.excinfo.typename}")
