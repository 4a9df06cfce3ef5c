"""group_norm: its values, errors and plans. The GPU's cases are webxpu/cases/group_norm.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec

X = (((7 * np.arange(48)) % 11) - 5).astype(np.float32).reshape(2, 6, 4)
WEIGHT = np.array([0.5, -1.25, 2, 0.75, -0.3, 1.6], np.float32)
BIAS = np.array([0.1, 0, -0.4, 1.2, 0.25, -0.75], np.float32)


@pytest.mark.parametrize("groups", [1, 3, 6])
@pytest.mark.parametrize("suffix", ["", "-f16"])
def test_it_is_torchs_group_norm(golden, suffix, groups):
    x, weight, bias = (golden(f"group_norm{suffix}.{name}") for name in ("x", "weight", "bias"))
    out, want = ops.group_norm(x, weight, bias, groups=groups, eps=1e-5), golden(f"group_norm{suffix}.out-{groups}")
    assert out.dtype == x.dtype
    if suffix:
        np.testing.assert_array_equal(out, want)
    else:
        np.testing.assert_allclose(out, want, rtol=1e-6, atol=1e-7)


def test_values_worked_out_by_torch():
    # torch 2.13.0: functional.group_norm(x, 3, weight, bias, 1e-5)
    out = ops.group_norm(X, WEIGHT, BIAS, groups=3, eps=1e-5).reshape(-1)
    first = [-0.712514, 0.370838, -0.248220, 0.835132, -0.290184, 1.257462, -1.450918, 0.096728]
    np.testing.assert_allclose(out[:8], first, atol=1e-6)
    np.testing.assert_allclose(out[-4:], [-3.102421, 0.364305, -1.616682, 1.850045], atol=1e-6)


def test_it_is_not_a_layer_norm_of_each_channel_unless_each_is_a_group():
    each = ops.layernorm(X, np.ones(4, np.float32), np.zeros(4, np.float32), eps=1e-5)
    each = each * WEIGHT[:, None] + BIAS[:, None]
    assert np.abs(ops.group_norm(X, WEIGHT, BIAS, groups=3, eps=1e-5) - each).max() > 0.1
    np.testing.assert_allclose(ops.group_norm(X, WEIGHT, BIAS, groups=6, eps=1e-5), each, rtol=1e-5, atol=1e-6)


def test_one_group_is_the_whole_sample():
    ones, zeros = np.ones(24, np.float32), np.zeros(24, np.float32)
    whole = ops.layernorm(X.reshape(2, 24), ones, zeros, eps=1e-5).reshape(X.shape) * WEIGHT[:, None] + BIAS[:, None]
    np.testing.assert_allclose(ops.group_norm(X, WEIGHT, BIAS, groups=1, eps=1e-5), whole, rtol=1e-5, atol=1e-6)


def test_a_constant_group_gives_the_bias_and_eps_lies_inside_the_root():
    x = np.array([[[2, 2], [2, 2], [-1, 1], [-1, 1]]], np.float32)
    out = ops.group_norm(x, np.ones(4, np.float32), np.arange(4, dtype=np.float32), groups=2, eps=3.0)
    assert out.tolist() == [[[0, 0], [1, 1], [1.5, 2.5], [2.5, 3.5]]]


def test_nothing_gives_nothing():
    assert ops.group_norm(X[:, :, :0], WEIGHT, BIAS, groups=3, eps=1e-5).shape == (2, 6, 0)
    assert ops.group_norm(X[:0], WEIGHT, BIAS, groups=3, eps=1e-5).shape == (0, 6, 4)


@pytest.mark.parametrize(
    ("x", "weight", "bias", "groups", "eps", "text"),
    [
        (X[:, :5], WEIGHT[:5], BIAS[:5], 2, 0, r"groups must be a number by which 5 channels are divisible, got 2"),
        (X, WEIGHT, BIAS, 0, 0, r"groups must be a number by which 6 channels are divisible, got 0"),
        (X, WEIGHT, BIAS, -3, 0, r"groups must be a number by which 6 channels are divisible, got -3"),
        (X, WEIGHT[:3], BIAS, 3, 0, r"weight must be float32 of shape \(6,\), got float32\[3\]"),
        (X, WEIGHT, BIAS[:4], 3, 0, r"bias must be float32 of shape \(6,\), got float32\[4\]"),
        (X.astype(np.float16), WEIGHT, BIAS, 3, 0, r"weight must be float16 of shape \(6,\), got float32"),
        (
            X.astype(np.int32),
            WEIGHT,
            BIAS,
            3,
            0,
            r"x must be float32 or float16 of shape \(N, C, \.\.\.\), C >= 1, got",
        ),
        (X[0, 0], WEIGHT, BIAS, 3, 0, r"x must be float32 or float16 of shape \(N, C, "),
        (X, WEIGHT, BIAS, 3, -1.0, r"eps must be at least 0, got -1\.0"),
    ],
)
def test_what_does_not_fit_is_named(x, weight, bias, groups, eps, text):
    with pytest.raises(ShapeError, match=f"^group_norm: {text}"):
        ops.group_norm(x, weight, bias, groups=groups, eps=eps)


def plan_of(gpu, *shape, groups, dtype="float32"):
    c = Spec(shape[1:2], dtype)
    return ops.group_norm.plan_of(gpu, Spec(shape, dtype), c, c, groups=groups, eps=1e-5)[1]


def test_a_workgroup_a_group_and_no_constant_that_knows_the_length(wide_gpu):
    for length in (40, 41):
        (dispatch,) = plan_of(wide_gpu, 2, 64, length, groups=8).dispatches
        assert dispatch.kernel.label == "group_norm/kernel.subgroups"
        assert dispatch.constants == {"N": 2, "C": 64, "PER": 8, "SPARE": 0, "EPS": 1e-5, "THREADS": 64}
        assert dispatch.grid == (16, 1, 1)


@pytest.mark.parametrize(
    ("n", "c", "length", "groups", "parts"),
    [
        (1, 32, 32_768, 32, 4),  # 32,768 values a group
        (1, 32, 32_767, 32, 1),
        (1, 128, 1 << 18, 32, 32),  # a million: many workgroups a group, all of the GPU's busy
        (1, 1, 1 << 24, 1, 64),
        (8, 64, 1 << 16, 32, 4),
        (64, 64, 4096, 8, 1),  # many groups keep the GPU busy by themselves
    ],
)
def test_few_long_groups_are_divided_among_workgroups(wide_gpu, n, c, length, groups, parts):
    plan = plan_of(wide_gpu, n, c, length, groups=groups)
    if parts == 1:
        assert [d.kernel.label for d in plan.dispatches] == ["group_norm/kernel.subgroups"]
        return
    share, combine, apply = plan.dispatches
    assert (share.kernel.label, share.grid) == ("group_norm/share.subgroups", (n * groups * parts, 1, 1))
    assert (combine.kernel.label, combine.constants) == ("group_norm/combine", {"PARTS": parts, "EPS": 1e-5})
    assert apply.kernel.label == "group_norm/apply"
    assert [str(s) for s in plan.scratch] == [f"float32[{n * groups}, {parts}, 4]", f"float32[{n * groups}, 4]"]


def test_as_many_samples_as_one_binding_holds_are_taken_together(plain_gpu):
    plan = plan_of(plain_gpu, 3, 16, 1 << 20, groups=4)  # 64 MiB a sample, and two fit
    assert len(plan.dispatches) == 6
    for i, dispatch in enumerate(plan.dispatches[2::3]):
        source, *_, target = dispatch.bindings
        assert source.offset == target.offset == i << 27
        assert source.nbytes == target.nbytes == (2 - i) << 26
        assert dispatch.constants["N"] == 2 - i
    # The parts share scratch, and each binds what is its own.
    shares = [dispatch.bindings[1] for dispatch in plan.dispatches[::3]]
    assert [b.nbytes for b in shares] == [16 * 4 * (2 - i) * 64 for i in (0, 1)]
    assert [s.nbytes for s in plan.scratch] == [16 * 8 * 64, 16 * 8]


def test_many_small_samples_take_few_dispatches_and_begin_at_256_bytes(plain_gpu):
    plan = plan_of(plain_gpu, 1 << 21, 4, 5, groups=2)  # 80 bytes a sample: 16 of them are whole pages
    assert len(plan.dispatches) == 2
    second = plan.dispatches[1].bindings[0]
    assert second.offset % 256 == 0
    assert second.offset + second.nbytes == 80 << 21


@pytest.mark.parametrize(("shape", "spare"), [((1, 1, 7), 1), ((1, 1, 8), 0), ((1, 5, 7), 0), ((3, 1, 7), 0)])
def test_a_float16_binding_with_one_value_too_many_is_known_where_the_length_depends_on_it(half_gpu, shape, spare):
    (dispatch,) = plan_of(half_gpu, *shape, groups=1, dtype="float16").dispatches
    assert dispatch.kernel.label == "group_norm/kernel.f16.subgroups"
    assert dispatch.constants["SPARE"] == spare
    n, c, length = shape
    assert (-(-n * c * length // 2) * 2 - spare) // (n * c) == length
