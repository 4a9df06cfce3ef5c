"""What cases of attention cannot say: infinities, an offset that the definition refuses, bindings too large for one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from webxpu.cases.attention import Arrays, small, waves
from webxpu.cases.case import uniform
from webxpu.gpu.op import OPS, Op
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.plan import Plan
from webxpu.gpu.variants import Planner
from webxpu.host.gpu_page import GpuPage

THREE = [OPS[name] for name in ("attention", "flash_attention", "grouped_attention")]
MASKS = [None, (1, 3, 16), (2, 3, 1), (2, 1, 16)]


def last(result: Any) -> np.ndarray:
    """The output, which comes last."""
    return result[-1] if isinstance(result, list | tuple) else result


def outputs(page: GpuPage, op: Op, args: Arrays, **kwargs: Any) -> dict[str, np.ndarray]:
    """The output by every plan."""
    planner = Planner(op, [spec_of(a) for a in args], kwargs)
    planner.add(page.gpu)
    if page.limits == "adapter":
        planner.add_all(page.gpu)
    results = page.run(op, args, kwargs, [plan for _, plan in planner.found])
    return {name: last(result.outputs) for (name, _), result in zip(planner.found, results, strict=True)}


@pytest.mark.parametrize("op", THREE[:2], ids=str)
def test_an_infinity_in_the_last_place_stays_one(gpu_page: GpuPage, op: Op) -> None:
    q, k, v = small(3, 20)
    v[:, :, -1, -1] = np.inf
    for name, out in outputs(gpu_page, op, (q, k, v)).items():
        assert (out[..., -1] == np.inf).all(), name
        assert np.isfinite(out[..., :-1]).all(), name
    # A score of -inf is a key that is not seen, which is no NaN.
    q, k, v = small(3, 20)
    q[...], k[:, :, -1, -1] = 1, -np.inf
    want = last(op(q, k[:, :, :-1], v[:, :, :-1]))
    for name, out in outputs(gpu_page, op, (q, k, v)).items():
        np.testing.assert_allclose(out, want, rtol=1e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("op", THREE, ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_nan_in_a_query_stays_in_its_row_and_stays_one(gpu_page: GpuPage, op: Op, value: float) -> None:
    q, k, v = small(3, 20)
    q[:, :, 1, 0] = value  # scores of +inf leave no probability either
    k[:, :, 2, 0] = 1
    with np.errstate(invalid="ignore"):
        assert np.isnan(last(op(q, k, v))[:, :, 1]).all()
    for name, out in outputs(gpu_page, op, (q, k, v)).items():
        assert np.isfinite(out[:, :, [0, 2]]).all(), name
        assert np.isnan(out[:, :, 1]).all(), name


@pytest.mark.parametrize("op", THREE[:2], ids=str)
def test_an_offset_below_zero_counts_as_zero(gpu_page: GpuPage, op: Op) -> None:
    q, k, v = small(3, 7)
    want = last(op(q, k, v, causal=True))
    args = (q, k, v, None, np.array([-3], np.int32))
    for name, out in outputs(gpu_page, op, args, causal=True).items():
        np.testing.assert_allclose(out, want, rtol=1e-5, atol=2e-6, err_msg=name)


def planned(page: GpuPage, op: Op, args: Arrays, limit: int) -> Plan:
    gpu = replace(page.gpu, limits={**page.gpu.limits, "maxStorageBufferBindingSize": limit})
    return op.plan_of(gpu, *map(spec_of, args))[1]


@pytest.mark.parametrize("op", THREE[:2], ids=str)
@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_groups_of_heads_make_the_same(gpu_page: GpuPage, op: Op, mask: tuple[int, int, int] | None) -> None:
    args = (*waves(2, 3, 3, 16, 64, 8, 8), *([] if mask is None else [uniform((*mask, 64), amp=2)]))
    limit = 4 * 4 * 64 * (8 if op.name == "flash_attention" else 16)  # four heads' k, or four heads' probs
    plan = planned(gpu_page, op, args, limit)
    assert [d.constants["HEADS"] for d in plan.dispatches[:2]] == [4, 2]
    (result,) = gpu_page.run(op, args, {}, [plan])
    np.testing.assert_allclose(last(result.outputs), last(op(*args)), rtol=1e-5, atol=2e-6)


def test_groups_of_kv_heads_make_the_same(gpu_page: GpuPage) -> None:
    args = (*waves(2, 6, 3, 5, 64, 8, 8), np.linspace(-2, 2, 6 * 64, dtype=np.float32).reshape(1, 6, 1, 64))
    plan = planned(gpu_page, OPS["grouped_attention"], args, 4 * 64 * 10 * 4)
    assert [(d.constants["HEADS"], d.constants["FIRST"]) for d in plan.dispatches[:2]] == [(4, 0), (2, 4)]
    (result,) = gpu_page.run(OPS["grouped_attention"], args, {}, [plan])
    for got, want in zip(result.outputs, OPS["grouped_attention"](*args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6)


def test_groups_of_heads_keep_their_alibi_slopes(gpu_page: GpuPage) -> None:
    args = (np.zeros((6, 8, 64), np.float32), np.arange(1, 7, dtype=np.float32))
    plan = planned(gpu_page, OPS["alibi"], args, 4 * 8 * 64 * 4)
    assert [(d.constants["HEADS"], d.constants["FIRST"]) for d in plan.dispatches] == [(4, 0), (2, 4)]
    (result,) = gpu_page.run(OPS["alibi"], args, {}, [plan])
    np.testing.assert_array_equal(result.outputs[0], OPS["alibi"](*args))
