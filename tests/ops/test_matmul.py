"""matmul, linear and the quantised products: their values, errors and plans. The GPU's cases are
webxpu/cases/matmul.py."""

import math
from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import FEW_CASES, MANY_CASES, uniform
from webxpu.errors import ShapeError
from webxpu.gpu.kernels import assemble
from webxpu.gpu.plan import Spec, out, scratch
from webxpu.ops.matmul import shares, tile
from webxpu.quant.ggml import Blocks
from webxpu.quant.q4g128 import pack_q4, quantize_q4g128
from webxpu.quant.q8 import pack_q8, quantize_rows


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def test_matmul_is_torchs_mm(golden):
    np.testing.assert_allclose(ops.matmul(golden("matmul.a"), golden("matmul.b")), golden("matmul.out"), rtol=1e-6)


def test_linear_is_torchs_linear(golden):
    out = ops.linear(golden("linear.x"), golden("linear.weight"))
    np.testing.assert_allclose(out, golden("linear.out"), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MANY_CASES)
def test_a_block_weight_is_what_gguf_makes_of_it(golden, name):
    weight = Blocks(name, (5, 64), golden(f"linear.{name}.data").reshape(-1))
    np.testing.assert_allclose(
        ops.linear(golden("linear.x"), weight), golden(f"linear.{name}.out"), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("name", FEW_CASES)
def test_a_weight_in_larger_blocks_is_what_libgguf_makes_of_it(golden, name):
    weight = Blocks(name, (4, 256), golden(f"blocks.{name}.data").reshape(-1))
    out = ops.linear(golden("blocks.x"), weight)
    np.testing.assert_allclose(out, golden(f"blocks.{name}.out"), rtol=1e-5, atol=1e-6)


def test_sums_are_wider_than_float32():
    a, b = uniform((1, 4096), seed=1), uniform((1, 4096), seed=2)
    exact = np.float32(math.fsum(float(v) * float(w) for v, w in zip(a[0], b[0], strict=True)))
    assert ops.matmul(a, b.T) == [[exact]]
    assert ops.linear(a, b) == [[exact]]


def test_no_columns_give_zeros_and_no_rows_nothing():
    assert not ops.matmul(ones(2, 0), ones(0, 3)).any()
    assert ops.matmul(ones(2, 0), ones(0, 3)).shape == (2, 3)
    assert ops.linear(ones(0, 4), ones(3, 4)).shape == (0, 3)


@pytest.mark.parametrize(
    ("op", "args", "text"),
    [
        (ops.matmul, (ones(2, 3), ones(4, 5)), r"matmul: b must be of shape \(3, N\), got float32\[4, 5\]"),
        (ops.matmul, (ones(6), ones(6, 1)), r"matmul: a must be a float32 or float16 matrix, got float32\[6\]"),
        (
            ops.matmul,
            (ones(2, 3), ones(3, 2, dtype=np.int32)),
            r"matmul: b must be a float32 matrix as a is, got int32",
        ),
        (ops.linear, (ones(2, 3), ones(4, 5)), r"linear: x must be of shape \(L, 5\), got float32\[2, 3\]"),
        (ops.linear, (ones(5), ones(4, 5)), r"linear: x must be of shape \(L, 5\), got float32\[5\]"),
        (ops.linear, (ones(2, 5, dtype=np.int32), ones(4, 5)), r"linear: x must be float32, got int32\[2, 5\]"),
        (ops.linear, (ones(2, 5), ones(5)), r"linear: weight must be of shape \(N, K\), got float32\[5\]"),
    ],
)
def test_what_does_not_fit_is_named(op, args, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        op(*args)


@pytest.mark.parametrize("op", [ops.matmul, lambda a, b: ops.linear(a, b.T)], ids=["matmul", "linear"])
def test_float16_is_rounded_once_from_a_wide_sum(op):
    # A little over 2049, midway between two float16s; as a float32 it would be 2049, and that goes to 2048.
    out = op(np.array([[2048, 1, 2**-14]], np.float16), ones(3, 1, dtype=np.float16))
    assert (out.dtype, out.tolist()) == (np.float16, [[2050]])
    assert op(np.full((1, 2), 65504, np.float16), ones(2, 1, dtype=np.float16)).tolist() == [[np.inf]]


@pytest.mark.parametrize(
    ("op", "args", "text"),
    [
        (
            ops.matmul,
            (ones(2, 3, dtype=np.float16), ones(3, 2)),
            r"matmul: b must be a float16 matrix as a is, got float",
        ),
        (
            ops.matmul,
            (ones(2, 3), ones(3, 2, dtype=np.float16)),
            r"matmul: b must be a float32 matrix as a is, got float",
        ),
        (
            ops.linear,
            (ones(2, 3, dtype=np.float16), ones(2, 3)),
            r"linear: weight must be float16 of shape \(N, K\) as x is float16, got float32\[2, 3\]",
        ),
        (ops.linear, (ones(2, 3), ones(2, 3, dtype=np.float16)), r"linear: weight must be float32 or Blocks of f16"),
    ],
)
def test_one_call_is_of_one_dtype(op, args, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        op(*args)


@pytest.mark.parametrize(
    ("op", "shapes", "label"),
    [
        (ops.matmul, ((5, 64), (64, 9)), "kernel.f16"),
        (ops.matmul, ((2048, 64), (64, 2048)), "large.f16"),
        (ops.linear, ((5, 64), (9, 64)), "linear.f16:f16"),
        (ops.linear, ((5, 33), (9, 33)), "linear.f16:f16_ragged"),
        (ops.linear, ((2048, 64), (2048, 64)), "linear_large.f16:f16"),
    ],
)
def test_float16_takes_kernels_of_its_own(half_gpu, op, shapes, label):
    for gpu in (half_gpu, replace(half_gpu, target="cpu")):
        outputs, plan = op.plan_of(gpu, *(Spec(shape, "float16") for shape in shapes))
        assert outputs[0].dtype == "float16"
        assert [d.kernel.label for d in plan.dispatches] == [f"matmul/{label}"]


def test_q8_is_linear_with_the_weights_that_the_codes_stand_for():
    codes, scales = quantize_rows(uniform((9, 70), seed=5))
    a = uniform((3, 70), seed=6)
    weight = codes.astype(np.float32) * scales[:, None]
    np.testing.assert_array_equal(ops.matmul_q8(a, pack_q8(codes), scales), ops.linear(a, weight))


def test_q4g128_is_linear_with_the_weights_that_the_codes_stand_for():
    codes, scales = quantize_q4g128(uniform((9, 300), seed=5))
    a = uniform((3, 300), seed=6)
    weight = codes.astype(np.float32) * np.repeat(scales, 128, axis=1)[:, :300]
    np.testing.assert_array_equal(ops.matmul_q4g128(a, pack_q4(codes), scales), ops.linear(a, weight))


def test_q8_gives_each_feature_its_own_scale():
    words, a = pack_q8(np.array([[1, -2, 3]] * 2)), np.array([[10, 20, 30], [1, 1, 1]], np.float32)
    assert ops.matmul_q8(a, words, np.array([0.5, 2], np.float32)).tolist() == [[30, 120], [1, 4]]


def test_q4g128_changes_scales_between_columns_127_and_128():
    codes = np.zeros((1, 130), np.int32)
    codes[0, [127, 128]] = [3, -5]
    a = np.zeros((2, 130), np.float32)
    a[0, 127], a[1, 128] = 1, 1
    scales = np.array([[0.5, 4]], np.float32)
    assert ops.matmul_q4g128(a, pack_q4(codes), scales).tolist() == [[1.5], [-20]]


WORDS, SCALE = np.zeros((3, 2), np.uint32), ones(3)


@pytest.mark.parametrize(
    ("op", "args", "text"),
    [
        ("matmul_q8", (ones(2, 4), WORDS, SCALE), r"weight must be uint32\[N, 1\] for K = 4, got uint32\[3, 2\]"),
        ("matmul_q8", (ones(2, 8), WORDS, SCALE[:2]), r"scale must be float32\[3\], got float32\[2\]"),
        ("matmul_q8", (ones(8), WORDS, SCALE), r"a must be a float32 matrix, got float32\[8\]"),
        ("matmul_q8", (ones(2, 8, dtype=np.float16), WORDS, SCALE), r"a must be a float32 matrix, got float16\[2, 8\]"),
        ("matmul_q4g128", (ones(2, 8), WORDS, SCALE[:, None]), r"weight must be uint32\[N, 1\] for K = 8, got uint32"),
        ("matmul_q4g128", (ones(2, 16), WORDS, SCALE), r"scale must be float32\[3, 1\], got float32\[3\]"),
    ],
)
def test_a_quantised_weight_that_does_not_fit_is_named(op, args, text):
    with pytest.raises(ShapeError, match=f"^{op}: {text}"):
        getattr(ops, op)(*args)


def quantised(op, m, n, k):
    words, scale = (-(-k // 4), (n,)) if op == "matmul_q8" else (-(-k // 8), (n, -(-k // 128)))
    return Spec((m, k), "float32"), Spec((n, words), "uint32"), Spec(scale, "float32")


@pytest.mark.parametrize(
    ("op", "shape", "label"),
    [
        ("matmul_q8", (5, 9, 48), "linear:apart/q8"),
        ("matmul_q8", (5, 9, 33), "linear:apart/q8_ragged"),
        ("matmul_q8", (4096, 4096, 48), "linear_large:apart/q8"),
        ("matmul_q4g128", (5, 9, 96), "linear:apart/q4g128"),
        ("matmul_q4g128", (5, 9, 72), "linear:apart/q4g128_ragged"),
    ],
)
def test_a_quantised_weight_is_one_more_type_of_linears_kernels(plain_gpu, op, shape, label):
    outputs, plan = getattr(ops, op).plan_of(plain_gpu, *quantised(op, *shape))
    assert outputs == (Spec(shape[:2], "float32"),)
    assert [d.kernel.label for d in plan.dispatches] == [f"matmul/{label}"]


@pytest.mark.parametrize(
    ("op", "specs", "rows"),
    [
        ("matmul", (Spec((600, 256), "float32"), Spec((256, 100), "float32")), 256),
        ("linear", (Spec((600, 256), "float32"), Spec((100, 256), "float32")), 256),
        ("linear", (Spec((1200, 256), "float16"), Spec((100, 256), "float16")), 512),
        ("matmul_q8", quantised("matmul_q8", 600, 100, 256), 256),
    ],
)
@pytest.mark.parametrize("target", [None, "cpu"])
def test_rows_past_a_bindings_limit_run_in_chunks(half_gpu, op, specs, rows, target):
    gpu = replace(half_gpu, target=target, limits={**half_gpu.limits, "maxStorageBufferBindingSize": 1 << 18})
    (output,), plan = getattr(ops, op).plan_of(gpu, *specs)
    parts = [next(b for b in d.bindings if b.source == "out") for d in plan.dispatches]
    row_bytes = output.nbytes // output.shape[0]
    assert [b.offset for b in parts] == [i * rows * row_bytes for i in range(len(parts))]
    assert sum(b.nbytes for b in parts) == output.nbytes
    lefts = [next(b for b in d.bindings if (b.source, b.index) == ("in", 0)) for d in plan.dispatches]
    assert [(b.offset, b.nbytes) for b in lefts[:2]] == [(0, 1 << 18), (1 << 18, 1 << 18)]


def test_no_features_and_no_columns_are_planned_too(plain_gpu):
    _, plan = ops.matmul.plan_of(plain_gpu, Spec((3, 0), "float32"), Spec((0, 0), "float32"))
    assert len(plan.dispatches) == 1


@pytest.mark.parametrize(
    ("m", "n", "whole", "expected"),
    [
        (4096, 4096, True, (True, 128, 1024)),
        (4096, 4096, False, (False, 64, 4096)),
        (128, 576, True, (False, 16, 72)),  # too few tiles for a big GPU: take the smallest
        (256, 3072, True, (False, 64, 192)),
        (16, 49_152, True, (False, 16, 768)),  # taller tiles would be empty
        (17, 49_152, True, (False, 32, 768)),
        (48, 49_152, True, (False, 48, 768)),
        (65, 49_152, True, (True, 128, 384)),
        (1, 1, True, (False, 16, 1)),
    ],
)
def test_the_tallest_tile_that_keeps_a_gpu_busy_and_is_not_half_empty_wins(m, n, whole, expected):
    assert tile(m, n, whole=whole) == expected


def test_a_cpu_computes_without_tiles_in_workgroup_memory(plain_gpu):
    cpu = replace(plain_gpu, target="cpu")
    _, plan = ops.linear.plan_of(cpu, Spec((48, 576), "float32"), Spec((960, 576), "q4_1"))
    (dispatch,) = plan.dispatches
    assert dispatch.kernel.label == "matmul/linear.cpu:q4_1"
    assert (dispatch.grid, dispatch.constants) == ((24, 1, 1), {"N": 960, "K": 576})
    assert "workgroup>" not in assemble(dispatch.kernel).code


def test_large_products_take_the_large_kernels(plain_gpu):
    _, plan = ops.matmul.plan_of(plain_gpu, Spec((4096, 64), "float32"), Spec((64, 4096), "float32"))
    assert [d.kernel.label for d in plan.dispatches] == ["matmul/large"]
    _, plan = ops.linear.plan_of(plain_gpu, Spec((4096, 64), "float32"), Spec((4096, 64), "q8_0"))
    assert [d.kernel.label for d in plan.dispatches] == ["matmul/linear_large:q8_0"]


def test_workgroups_share_the_columns_of_a_tile_where_tiles_are_few(plain_gpu):
    x, weight = Spec((64, 576), "float32"), Spec((1536, 576), "q4_1")
    _, plan = ops.linear.plan_of(plain_gpu, x, weight)
    products, total = plan.dispatches
    assert (products.kernel.label, products.grid) == ("matmul/linear:q4_1", (6 * 96, 1, 1))
    assert products.constants == {"N": 1536, "K": 576, "ROWS": 16}
    assert plan.scratch == [Spec((6, 64, 1536), "float32")]
    assert products.bindings[2] == scratch(0)
    assert (total.kernel.label, total.constants, total.bindings) == (
        "matmul/sum", {}, [scratch(0, "read"), out(0)],
    )  # fmt: skip
    for groups, k, expected in [(512, 4096, 1), (511, 4096, 2), (1, 4096, 8), (1, 576, 6), (1, 192, 2), (1, 160, 1)]:
        assert shares(groups, k) == expected


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 64, 200])
def test_the_number_of_rows_is_no_constant_of_a_kernel(plain_gpu, rows):
    _, plan = ops.linear.plan_of(plain_gpu, Spec((rows, 96), "float32"), Spec((33, 96), "q4_1"))
    (dispatch,) = plan.dispatches
    assert dispatch.kernel.label == "matmul/linear:q4_1"
    assert dispatch.constants == {"N": 33, "K": 96, "ROWS": 16}
    assert dispatch.grid == (-(-rows // 16), 1, 1)
