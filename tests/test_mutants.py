"""The lists of mutants are up to date, and an error is no kill. `python -m tests.mutation` runs them."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.mutation import Mutant, gather_mutants
from tests.mutation.__main__ import _disagreement
from webxpu import ops
from webxpu.cases.case import gather_cases
from webxpu.gpu.frames import Result
from webxpu.gpu.target import Gpu

ROOT = Path(__file__).parent.parent
MUTANTS = gather_mutants()
CASES = {str(case): case for case in gather_cases()}


def test_there_are_more_than_sixty_that_carry_weight_in_kernels_and_in_references():
    weighty = [mutant for mutant in MUTANTS if not mutant.survives]
    assert len(weighty) >= 60
    assert {mutant.file.partition("/")[0] for mutant in weighty} == {"kernels", "webxpu"}


@pytest.mark.parametrize("file", sorted({mutant.file for mutant in MUTANTS}))
def test_every_text_stands_once_in_its_file(file):
    text = (ROOT / file).read_text("utf-8")
    counts = {mutant.old: text.count(mutant.old) for mutant in MUTANTS if mutant.file == file}
    assert {old: count for old, count in counts.items() if count != 1} == {}


def test_every_case_and_every_test_is_there():
    def is_there(mutant: Mutant) -> bool:
        file, _, test = mutant.case.partition("::")
        if not test:
            return mutant.case in CASES
        name = test.partition("[")[0]
        return re.search(rf"^def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE) is not None

    assert [str(mutant) for mutant in MUTANTS if not is_there(mutant)] == []


class Page:
    """A device that computes one case right."""

    def __init__(self, case):
        self.gpu = Gpu({"maxStorageBufferBindingSize": 2**27, "maxComputeWorkgroupStorageSize": 16_384})
        self.result = Result([getattr(ops, case.op)(*case.make(), **case.kwargs)], {})

    def attempt(self, op, args, kwargs, plans):
        return [self.result] * len(plans)


def test_a_wrong_value_of_the_definition_is_a_kill_and_an_error_in_it_is_none(monkeypatch):
    case, file = CASES["activation-silu-300"], "webxpu/ops/activation.py"
    page = Page(case)
    assert _disagreement(case, file, page) is None
    monkeypatch.setattr(ops.activation, "body", lambda x, **_: x)
    assert "elements disagree" in _disagreement(case, file, page)
    monkeypatch.setattr(ops.activation, "body", lambda x, **_: x + np.ones(7))
    with pytest.raises(ValueError, match="could not be broadcast"):
        _disagreement(case, file, page)
