"""The cases that `check()` runs on a user's device: some of every op, few, and small."""

from collections import Counter

import pytest

from webxpu import ops
from webxpu.cases.case import gather_cases
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of

CASES = gather_cases()
QUICK = [case for case in CASES if case.quick]
MAX_CASES = 6
MAX_BYTES = 4 << 20


@pytest.mark.parametrize("name", sorted(name for name in ops.__all__ if isinstance(getattr(ops, name), Op)))
def test_every_op_has_one_to_six_quick_cases(name):
    count = Counter(case.op for case in QUICK)[name]
    assert 1 <= count <= MAX_CASES, f"{name} has {count} quick cases"


@pytest.mark.parametrize("case", QUICK, ids=str)
def test_a_quick_case_takes_at_most_four_mebibytes(case):
    specs = [spec_of(a) for a in case.make()]
    outputs = getattr(ops, case.op).spec_of(*specs, **case.kwargs)
    assert sum(spec.nbytes for spec in [*specs, *outputs] if spec) <= MAX_BYTES
