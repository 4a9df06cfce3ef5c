"""project and attend_project against PyTorch. The GPU's cases are webxpu/cases/project.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError, Unsupported
from webxpu.gpu.plan import Spec
from webxpu.gpu.program import bind, encode


def test_it_is_torchs_linear_and_the_residual(golden):
    weight, residual = golden("project.weight"), golden("project.residual")
    out = ops.project(weight, golden("layer.x"), residual)
    np.testing.assert_allclose(out, golden("project.out"), rtol=1e-5, atol=1e-6)


def test_without_a_residual_it_is_torchs_linear(golden):
    weight, x, residual = golden("project.weight"), golden("layer.x"), golden("project.residual")
    np.testing.assert_allclose(ops.project(weight, x), golden("project.out") - residual, rtol=1e-4, atol=1e-6)
    acc, stats = x.reshape(len(x), 1, 1, -1), np.tile(np.float32([0, 1]), (len(x), 1, 1, 1))
    np.testing.assert_allclose(ops.attend_project(weight, acc, stats), ops.project(weight, x), rtol=1e-6)


def test_the_parts_of_attention_are_joined_first(golden):
    # Two heads of width 4 and one of them cut into parts: (a e^2 + b) / (e^2 + 1) and c, by hand.
    acc = np.arange(1, 17, dtype=np.float32).reshape(1, 2, 2, 4)
    stats = np.array([[[[3, 1], [1, 1]], [[0, 2], [np.finfo(np.float32).min, 0]]]], np.float32)
    e2 = np.exp(2.0)
    joined = np.concatenate([(acc[0, 0, 0] * e2 + acc[0, 0, 1]) / (e2 + 1), acc[0, 1, 0] / 2])
    weight = np.arange(24, dtype=np.float32).reshape(3, 8)
    residual = np.array([[10, 20, 30]], np.float32)
    out = ops.attend_project(weight, acc, stats, residual)
    np.testing.assert_allclose(out, residual + weight @ joined, rtol=1e-6)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (((9, 12), (3, 8), (3, 9)), r"weight must be \(N, 8\) like the rows of x, got float32\[9, 12\]"),
        (((9, 12), (3, 12), (1, 9)), r"residual must be float32\[3, 9\], got float32\[1, 9\]"),
        (((9, 10), (3, 10), (3, 9)), r"x must be float32\[L, K\] with K a multiple of 4, got float32\[3, 10\]"),
        (((9, 12), (12,), (3, 9)), r"x must be float32\[L, K\] with K a multiple of 4, got float32\[12\]"),
    ],
)
def test_what_does_not_fit_is_named(args, text):
    with pytest.raises(ShapeError, match=f"^project: {text}"):
        ops.project(*(np.zeros(s, np.float32) for s in args))


@pytest.mark.parametrize("name", ["attend_project", "attend_combine"])
def test_a_head_width_that_is_no_multiple_of_4_is_refused(name):
    acc, stats = np.zeros((1, 4, 2, 9), np.float32), np.zeros((1, 4, 2, 2), np.float32)
    weight = [np.zeros((5, 36), np.float32)] if name == "attend_project" else []
    rule = r"acc must be float32\[L, H, parts, D\] with D a multiple of 4, got float32\[1, 4, 2, 9\]"
    with pytest.raises(ShapeError, match=f"^{name}: {rule}$"):
        getattr(ops, name)(*weight, acc, stats)


def labels(plan):
    return [d.kernel.label for d in plan.dispatches]


def specs(weight, *shapes):
    return weight, *(Spec(s, "float32") for s in shapes)


def test_a_few_rows_are_one_dispatch_and_more_are_composed(plain_gpu, wide_gpu, cpu_gpu):
    weight = Spec((576, 1536), "q4_1")
    _, one = ops.project.plan_of(wide_gpu, *specs(weight, (1, 1536), (1, 576)))
    assert (labels(one), one.dispatches[0].grid) == (["project/staged.subgroups:q4_1"], (72, 1, 1))
    for gpu, units, groups in [(plain_gpu, 1, 9), (cpu_gpu, 4, 3)]:
        (dispatch,) = ops.project.plan_of(gpu, *specs(weight, (1, 1536), (1, 576)))[1].dispatches
        assert (dispatch.kernel.label, dispatch.grid) == ("project/kernel:q4_1", (groups, 1, 1))
        assert dispatch.constants == {"N": 576, "K": 1536, "ADDS": 1, "UNITS": units}
    _, many = ops.project.plan_of(wide_gpu, *specs(weight, (10, 1536), (10, 576)))
    assert labels(many) == ["matmul/linear:q4_1", "matmul/sum", "elementwise/kernel"]
    assert many.scratch == [Spec((10, 576), "float32"), Spec((8, 10, 576), "float32")]
    assert labels(ops.project.plan_of(wide_gpu, *specs(weight, (0, 1536), (0, 576)))[1])[-1] == "elementwise/kernel"


def attend_plan(gpu, h, d, rows=1, parts=4):
    weight = Spec((64, h * d), "q8_0")
    return ops.attend_project.plan_of(gpu, *specs(weight, (rows, h, parts, d), (rows, h, parts, 2), (rows, 64)))[1]


@pytest.mark.parametrize(("n", "columns"), [(9, 1), (2047, 1), (2048, 2), (8191, 2), (8192, 4)])
def test_a_subgroup_takes_more_columns_where_workgroups_abound(wide_gpu, n, columns):
    (dispatch,) = ops.project.plan_of(wide_gpu, *specs(Spec((n, 1024), "q8_0"), (2, 1024), (2, n)))[1].dispatches
    assert dispatch.kernel.label == "project/staged.subgroups:q8_0"
    assert dispatch.constants == {"N": n, "K": 1024, "ADDS": 1, "COLUMNS": columns}
    assert dispatch.grid == (2 * -(-n // (8 * columns)), 1, 1)


def test_attention_is_joined_and_projected_by_one_dispatch(plain_gpu, wide_gpu, cpu_gpu):
    for gpu, name, groups in [(plain_gpu, "attend", 1), (wide_gpu, "attend.subgroups", 8), (cpu_gpu, "attend.cpu", 1)]:
        plan = attend_plan(gpu, 9, 64)
        assert (labels(plan), plan.dispatches[0].grid) == ([f"project/{name}:q8_0"], (groups, 1, 1))


def test_what_one_kernel_cannot_hold_is_composed(wide_gpu, cpu_gpu):
    assert len(labels(attend_plan(wide_gpu, 31, 32))) == 1
    assert labels(attend_plan(wide_gpu, 32, 32)) == ["attend/combine", "project/staged.subgroups:q8_0"]
    assert labels(attend_plan(wide_gpu, 30, 128)) == ["attend/combine", "project/staged.subgroups:q8_0"]
    assert len(labels(attend_plan(wide_gpu, 32, 128))) == 1  # 16 KiB of workgroup memory, too little to stage more
    assert labels(attend_plan(wide_gpu, 33, 128)) == ["attend/combine", "project/kernel.subgroups:q8_0"]
    assert labels(attend_plan(cpu_gpu, 4, 16)) == ["attend/combine", "project/kernel:q8_0"]
    assert labels(attend_plan(wide_gpu, 33, 128, rows=2)) == ["attend/combine", "project/kernel.subgroups:q8_0"]
    assert labels(attend_plan(wide_gpu, 9, 64, rows=10))[0] == "attend/combine"


@pytest.mark.parametrize("sizes", [(4, 4), (8, 32), (32, 32), (64, 64)])
@pytest.mark.parametrize("n", [1, 63, 64, 577])
def test_the_grid_covers_every_row_at_every_subgroup_size(wide_gpu, n, sizes):
    gpu = replace(wide_gpu, subgroup_sizes=sizes)
    _, plan = ops.project.plan_of(gpu, *specs(Spec((n, 32), "q4_0"), (1, 32), (1, n)))
    _, joined = ops.attend_project.plan_of(gpu, *specs(Spec((n, 32), "q4_0"), (1, 1, 2, 32), (1, 1, 2, 2), (1, n)))
    for (dispatch,), threads in ((plan.dispatches, 128), (joined.dispatches, 256)):
        for size in sizes:
            assert dispatch.grid[0] * (threads // size) >= n


def test_a_grid_past_65535_workgroups_is_folded(plain_gpu):
    n = 65_535 * 64 + 1
    _, plan = ops.project.plan_of(plain_gpu, *specs(Spec((n, 4), "float32"), (1, 4), (1, n)))
    assert plan.dispatches[0].grid == (32_768, 2, 1)


def test_a_binding_past_the_limit_is_refused_by_name(plain_gpu):
    given = specs(Spec((65_536, 4096), "float32"), (1, 4096), (1, 65_536))
    outputs, plan = ops.project.plan_of(plain_gpu, *given)
    calls = bind(plan, [(i, 0, s.nbytes) for i, s in enumerate(given)], [(3, 0, outputs[0].nbytes)], [])
    with pytest.raises(Unsupported, match=r"^project/kernel:f32: a binding of 1073741824 bytes .* maxStorageBuffer"):
        encode("project", calls, dict(plain_gpu.limits))
