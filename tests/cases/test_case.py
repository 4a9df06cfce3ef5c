"""What cases are made of: the comparator, the data, the list that is gathered."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import (
    EXACT,
    Case,
    Tolerance,
    agree,
    block_weight,
    code_wave,
    distinct,
    gather_cases,
    hashed,
    scale_wave,
    uniform,
    wave,
)
from webxpu.errors import ShapeError
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of
from webxpu.quant.ggml import BLOCK_TYPES, dequantize

NEAR = Tolerance(1e-3, 1e-6)


@pytest.mark.parametrize(
    ("got", "want"),
    [([1.0005], [1]), ([1e-7], [0]), ([0], [1e-7]), ([], []), ([-1000.5], [-1000]), ([[2]], [[2]])],
)
def test_either_measure_is_enough(got, want):
    assert agree(got, want, NEAR) is None


@pytest.mark.parametrize(
    ("got", "want"),
    [
        ([1.002], [1]),
        ([1e-5], [0]),
        ([np.nan], [np.nan]),
        ([np.nan], [1]),
        ([1], [np.nan]),
        ([np.inf], [np.inf]),
        ([np.inf], [1]),
    ],
)
def test_what_lies_apart_is_reported_and_nan_agrees_with_nothing(got, want):
    assert agree(got, want, NEAR) is not None


def test_the_worst_by_relative_error_is_named_with_the_count():
    worst = agree([[1, 2.1], [300, 1.5]], [[1, 2], [310, 1.0]], NEAR)
    assert worst is not None
    assert (worst.index, worst.got, worst.want, worst.count) == ((1, 1), 1.5, 1.0, 3)
    assert str(worst) == "3 elements disagree, worst at [1, 1]: got 1.5, want 1.0 (rel 0.5, abs 0.5)"
    nan = agree([1, np.nan, 9], [1, 1, 1], NEAR)
    assert nan is not None
    assert nan.index == (1,)


def test_exact_allows_nothing():
    assert agree(np.array([3], np.int32), np.array([3], np.int32), EXACT) is None
    assert agree(np.float32([1]), np.nextafter(np.float32([1]), np.float32(2)), EXACT) is not None


def test_other_shapes_raise():
    with pytest.raises(ShapeError, match=r"^agree: got must be of the wanted shape \(2,\), got \(1,\)"):
        agree([1], [1, 1], NEAR)


def test_the_data_is_what_its_name_says():
    np.testing.assert_allclose(wave(3, 0.5, 0.1, 2), 2 * np.sin([0.1, 0.6, 1.1]), rtol=1e-6)
    assert code_wave(4, 0.5).tolist() == [0, 48, 84, 100]
    assert (np.diff(scale_wave(50)) > 0).all()
    assert 1 not in scale_wave(50)
    assert len(set(distinct(100))) == 100


def test_hashes_are_fixed_and_even():
    assert hashed(3).tolist() == [int(h) for h in hashed(5)[:3]]
    assert hashed(2, 1).tolist() != hashed(2, 2).tolist()
    values = uniform((100, 100), seed=3, amp=2)
    assert values.min() < -1.99
    assert values.max() > 1.99
    assert abs(values.mean()) < 0.05


@pytest.mark.parametrize("name", BLOCK_TYPES)
def test_block_weights_hold_every_code_and_both_signs_of_scale(name):
    weight = block_weight(name, (40, 256), seed=2)
    values = dequantize(weight)
    assert values.shape == (40, 256)
    assert 0.1 < np.abs(values).mean() < 0.6
    assert np.abs(values).max() < 2.5
    block = BLOCK_TYPES[name]
    if block.elements > 1:
        rows = weight.data.reshape(-1, block.nbytes)
        halves = [at + i for at in block.halves for i in (0, 1)]
        assert len(np.unique(np.delete(rows, halves, axis=1))) == 256
        scales = np.ascontiguousarray(rows[:, halves[:2]]).view(np.float16)
        assert (scales > 0).any()
        assert (scales < 0).any()


def test_every_case_has_a_tolerance_with_a_reason_and_a_name_of_its_own():
    cases = gather_cases()
    assert len({str(case) for case in cases}) == len(cases)
    for case in cases:
        assert case.tolerance is not None
        assert case.tolerance.why, f"{case} has a tolerance without a reason"


def test_every_public_op_has_a_quick_case():
    names = {name for name in ops.__all__ if isinstance(getattr(ops, name), Op)}
    assert {case.op for case in gather_cases() if case.quick} == names


@pytest.mark.parametrize("case", gather_cases(), ids=str)
def test_a_case_is_made_the_same_each_time_and_its_reference_returns_what_its_spec_says(case: Case):
    op: Op = getattr(ops, case.op)
    args, again = case.make(), case.make()
    specs = [spec_of(a) for a in args]
    assert specs == [spec_of(a) for a in again]
    for a, b in zip(args, again, strict=True):
        np.testing.assert_array_equal(getattr(a, "data", a), getattr(b, "data", b))
    returned = op(*args, **case.kwargs)
    outputs = returned if isinstance(returned, tuple) else () if returned is None else (returned,)
    assert [spec_of(o) for o in outputs] == list(op.spec_of(*specs, **case.kwargs))
