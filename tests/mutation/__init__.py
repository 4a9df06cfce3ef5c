"""The mutation proof: each guard and constant that carries weight is broken on purpose, and a named case must notice.

`tests/mutation/<op>.py` lists the mutants of one op as MUTANTS; `python -m tests.mutation [op ...]` runs them on a copy
of the repository. A mutant counts as killed only where its case fails by a wrong value: an error of the compiler, of
validation or of Python is no kill.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass

NOT_OPS = ("__main__", "outcome")


@dataclass(frozen=True)
class Mutant:
    """One broken line.

    file      relative to the repository
    old, new  the text, which occurs exactly once in the file, and what stands in its place
    case      a shipped case ("rmsnorm-3x300"), which must then disagree on the GPU, or a test's node id
              ("tests/ops/test_rmsnorm.py::test_..."), which must then fail an assertion
    why       what the line guards
    survives  the reason why no input can show the difference; such a mutant is expected to survive
    """

    file: str
    old: str
    new: str
    case: str
    why: str
    survives: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.why} [{self.case}]"


def gather_mutants(names: list[str] | None = None) -> list[Mutant]:
    """The mutants of the modules beside this one, or of those named."""
    found = [m.name for m in pkgutil.iter_modules(__path__) if m.name not in NOT_OPS]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names or found]
    return [mutant for module in modules for mutant in module.MUTANTS]
