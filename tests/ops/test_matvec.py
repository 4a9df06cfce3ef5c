"""matvec: its values, its errors and its plans. The GPU's cases are webxpu/cases/matvec.py."""

import math
from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import block_weight, uniform
from webxpu.errors import ShapeError, Unsupported
from webxpu.gpu.kernels import Kernel, assemble, variants
from webxpu.gpu.plan import Spec
from webxpu.gpu.program import bind, encode
from webxpu.ops.matvec import row_lanes
from webxpu.quant.ggml import BLOCK_TYPES, Blocks

ONES = np.ones(3, np.float32)


def test_it_is_torchs_mv(golden):
    out = ops.matvec(golden("matvec.weight"), golden("matvec.x"))
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, golden("matvec.out"), rtol=1e-6)


@pytest.mark.parametrize("name", BLOCK_TYPES)
def test_a_block_weight_is_what_gguf_makes_of_it(golden, name):
    weight = Blocks(name, (5, 64), golden(f"linear.{name}.data").reshape(-1))
    x = golden("linear.x")
    np.testing.assert_allclose(ops.matvec(weight, x[1]), golden(f"linear.{name}.out")[1], rtol=1e-5, atol=1e-6)


def test_the_sum_is_wider_than_float32():
    weight, x = uniform((1, 4096), seed=1), uniform((4096,), seed=2)
    exact = math.fsum(float(w) * float(v) for w, v in zip(weight[0], x, strict=True))
    assert ops.matvec(weight, x) == np.float32(exact)


def test_no_columns_give_zeros():
    assert ops.matvec(np.zeros((4, 0), np.float32), np.zeros(0, np.float32)).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("weight", "x", "text"),
    [
        (np.ones((2, 3), np.float32), np.ones(4, np.float32), r"matvec: x must be of shape \(3,\), got float32\[4\]"),
        (np.ones((2, 3), np.float32), np.ones((3, 1), np.float32), r"matvec: x must be of shape \(3,\), got"),
        (np.ones((2, 3), np.float32), np.ones(3, np.int32), r"matvec: x must be float32, got int32\[3\]"),
        (ONES, ONES, r"matvec: weight must be of shape \(N, K\), got float32\[3\]"),
        (
            np.ones((2, 3), np.float16),
            ONES,
            r"matvec: weight must be float32 or Blocks of f16, .*, got float16\[2, 3\]",
        ),
    ],
)
def test_what_does_not_fit_is_named(weight, x, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.matvec(weight, x)


def test_no_kernel_has_a_barrier():
    names = {v.name for v in variants("matvec") if not v.features and v.dtype is None}
    assert names == {"kernel", "ragged", "q8_ffn", "q8_residual"}
    for variant in variants("matvec"):
        assert "Barrier" not in assemble(Kernel("matvec", variant, "f16")).code


def test_a_device_without_subgroups_gets_one_thread_a_row(plain_gpu):
    _, plan = ops.matvec.plan_of(plain_gpu, Spec((130, 64), "q4_1"), Spec((64,), "float32"))
    (dispatch,) = plan.dispatches
    assert (dispatch.kernel.label, dispatch.grid) == ("matvec/kernel:q4_1", (3, 1, 1))
    assert dispatch.constants == {"N": 130, "K": 64}


@pytest.mark.parametrize(("dtype", "k", "part"), [("float32", 33, "f32_ragged"), ("f16", 36, "f16_ragged")])
def test_rows_that_are_no_whole_loads_take_the_ragged_kernel(wide_gpu, dtype, k, part):
    _, plan = ops.matvec.plan_of(wide_gpu, Spec((5, k), dtype), Spec((k,), "float32"))
    assert plan.dispatches[0].kernel.label == f"matvec/ragged.subgroups:{part}"


@pytest.mark.parametrize(
    ("n", "chunks", "lanes", "rows"),
    [
        (576, 18, 32, 1),  # few rows: every chunk has a lane
        (49_152, 18, 8, 2),  # many: 8 lanes in 3 steps idle least
        (16_384, 4096, 32, 4),
        (1, 1, 1, 1),
        (2_000_000, 1, 1, 4),
        (49_152, 0, 1, 1),
    ],
)
def test_lanes_and_rows_follow_the_size(wide_gpu, n, chunks, lanes, rows):
    assert row_lanes(wide_gpu, n, chunks) == (lanes, rows)


@pytest.mark.parametrize("sizes", [(4, 4), (8, 32), (32, 32), (64, 64)])
@pytest.mark.parametrize("n", [1, 127, 128, 129, 49_152])
def test_the_grid_covers_every_row_at_every_subgroup_size(wide_gpu, n, sizes):
    gpu = replace(wide_gpu, subgroup_sizes=sizes)
    _, plan = ops.matvec.plan_of(gpu, Spec((n, 576), "q4_1"), Spec((576,), "float32"))
    (dispatch,) = plan.dispatches
    lanes, rows = dispatch.constants["LANES"], dispatch.constants["ROWS"]
    for size in {sizes[0], sizes[1]}:
        covered = dispatch.grid[0] * dispatch.grid[1] * (128 // size) * (size // min(lanes, size)) * rows
        assert covered >= n


def test_a_grid_past_65535_workgroups_is_folded(plain_gpu):
    _, plan = ops.matvec.plan_of(plain_gpu, Spec((65_535 * 64 + 1, 4), "float32"), Spec((4,), "float32"))
    x, y, z = plan.dispatches[0].grid
    assert (y, z) == (2, 1)
    assert x * y >= 65_536


def test_rows_past_a_bindings_limit_run_in_chunks(plain_gpu):
    specs = Spec((65_600, 4096), "float32"), Spec((4096,), "float32")
    _, plan = ops.matvec.plan_of(plain_gpu, *specs)
    assert [d.constants["N"] for d in plan.dispatches] == [8192] * 8 + [64]
    assert [d.grid for d in plan.dispatches] == [(128, 1, 1)] * 8 + [(1, 1, 1)]
    assert [(b.offset, b.nbytes) for b in plan.dispatches[8].bindings] == [(2**30, 2**20), (0, 0), (2**18, 256)]


def test_planes_past_the_limit_are_refused_by_name(plain_gpu):
    specs = Spec((65_536, 4096), "q8_0"), Spec((4096,), "float32")
    outputs, plan = ops.matvec.plan_of(plain_gpu, *specs)
    calls = bind(plan, [(i, 0, s.nbytes) for i, s in enumerate(specs)], [(2, 0, outputs[0].nbytes)], [])
    with pytest.raises(Unsupported, match=r"^matvec/kernel:q8_0: a binding of 285212672 bytes .* maxStorageBuffer"):
        encode("matvec", calls, dict(plain_gpu.limits))


@pytest.mark.parametrize("name", BLOCK_TYPES)
def test_one_kernel_serves_every_weight_type(plain_gpu, name):
    weight = block_weight(name, (2, 64))
    _, plan = ops.matvec.plan_of(plain_gpu, Spec(weight.shape, name), Spec((64,), "float32"))
    module = assemble(plan.dispatches[0].kernel)
    files = [file for file, _, _ in module.segments]
    assert (f"_with/weights/{name}.wgsl" in files, files[-1]) == (True, "matvec/kernel.wgsl")
