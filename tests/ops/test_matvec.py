"""matvec and its quantised forms: their values, errors and plans. The GPU's cases are webxpu/cases/matvec.py."""

import math
from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import FEW_CASES, MANY_CASES, block_weight, uniform
from webxpu.errors import ShapeError, Unsupported
from webxpu.gpu.kernels import Kernel, assemble, variants
from webxpu.gpu.plan import Spec
from webxpu.gpu.program import bind, encode
from webxpu.ops.matvec import row_lanes
from webxpu.quant.ggml import BLOCK_TYPES, Blocks
from webxpu.quant.q4g128 import pack_q4
from webxpu.quant.q8 import pack_q8, quantize_rows

ONES = np.ones(3, np.float32)


def test_it_is_torchs_mv(golden):
    out = ops.matvec(golden("matvec.weight"), golden("matvec.x"))
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, golden("matvec.out"), rtol=1e-6)


@pytest.mark.parametrize("name", MANY_CASES)
def test_a_block_weight_is_what_gguf_makes_of_it(golden, name):
    weight = Blocks(name, (5, 64), golden(f"linear.{name}.data").reshape(-1))
    x = golden("linear.x")
    np.testing.assert_allclose(ops.matvec(weight, x[1]), golden(f"linear.{name}.out")[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FEW_CASES)
def test_a_weight_in_larger_blocks_is_what_libgguf_makes_of_it(golden, name):
    weight = Blocks(name, (4, 256), golden(f"blocks.{name}.data").reshape(-1))
    out = ops.matvec(weight, golden("blocks.x")[1])
    np.testing.assert_allclose(out, golden(f"blocks.{name}.out")[1], rtol=1e-5, atol=1e-6)


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
            ONES.astype(np.float16).reshape(1, 3),
            ONES,
            r"matvec: weight must be float32 or Blocks of f16, .*, got float16\[1, 3\]",
        ),
    ],
)
def test_what_does_not_fit_is_named(weight, x, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.matvec(weight, x)


def test_float16_is_rounded_once_from_a_wide_sum():
    weight, x = uniform((1, 512), seed=1).astype(np.float16), uniform((512,), seed=2).astype(np.float16)
    exact = math.fsum(float(w) * float(v) for w, v in zip(weight[0], x, strict=True))
    out = ops.matvec(weight, x)
    assert (out.dtype, out[0]) == (np.float16, np.float16(exact))
    # A little over 2049, midway between two float16s; as a float32 it would be 2049, and that goes to 2048.
    assert ops.matvec(np.array([[2048, 1, 2**-14]], np.float16), np.ones(3, np.float16)) == [2050]


def test_a_sum_past_float16_is_infinite():
    assert ops.matvec(np.full((1, 2), 65504, np.float16), np.ones(2, np.float16)).tolist() == [np.inf]


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (ONES.reshape(1, 3), r"matvec: weight must be float16 of shape \(N, K\) as x is float16, got float32\[1, 3\]"),
        (block_weight("f16", (1, 3)), r"matvec: weight must be float16 of shape .*, got f16\[1, 3\]"),
        (ONES.astype(np.float16), r"matvec: weight must be float16 of shape .*, got float16\[3\]"),
        (np.ones((1, 4), np.float16), r"matvec: x must be of shape \(4,\), got float16\[3\]"),
    ],
)
def test_a_float16_x_takes_a_float16_weight(weight, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.matvec(weight, ONES.astype(np.float16))


@pytest.mark.parametrize(("k", "label"), [(64, "kernel.f16.subgroups:f16"), (36, "ragged.f16.subgroups:f16_ragged")])
def test_float16_takes_kernels_of_its_own(half_gpu, plain_gpu, k, label):
    specs = Spec((5, k), "float16"), Spec((k,), "float16")
    outputs, plan = ops.matvec.plan_of(half_gpu, *specs)
    assert (outputs, plan.dispatches[0].kernel.label) == ((Spec((5,), "float16"),), f"matvec/{label}")
    with pytest.raises(Unsupported, match=r"^matvec: f16 tensors need the WebGPU feature 'shader-f16'"):
        ops.matvec.plan_of(plain_gpu, *specs)


def q8(codes, scales):
    return pack_q8(np.array(codes)), np.array(scales, np.float32)


def f32(*values):
    return np.array(values, np.float32)


def test_q8_sums_codes_and_then_scales():
    assert ops.matvec_q8(*q8([[1, -2, 3, -4]], [0.5]), f32(10, 20, 30, 40)).tolist() == [-50]


def test_q8_gives_each_row_its_own_scale():
    assert ops.matvec_q8(*q8([[1, 1, 1, 1]] * 2, [2, 5]), f32(1, 1, 1, 1)).tolist() == [8, 20]


def test_q8_leaves_out_what_a_last_word_has_to_spare():
    weight = np.array([[0x01010101, 0x63636301]], np.uint32)
    assert ops.matvec_q8(weight, f32(1), f32(1, 1, 1, 1, 1)).tolist() == [5]


def test_q8_is_a_matvec_of_the_weights_that_the_codes_stand_for():
    codes, scales = quantize_rows(uniform((9, 70), seed=5))
    x = uniform((70,), seed=6)
    out = ops.matvec_q8(pack_q8(codes), scales, x)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, (codes * scales.astype(np.float64)[:, None]) @ x, rtol=1e-6)


def test_q8_ffn_is_silu_of_the_gate_times_up():
    gate, up, x = q8([[1] * 4], [1]), q8([[3] * 4], [1]), f32(1, 1, 1, 1)
    np.testing.assert_allclose(ops.matvec_q8_ffn(*gate, *up, x), [47.13666], rtol=1e-6)
    np.testing.assert_allclose(ops.matvec_q8_ffn(*up, *gate, x), [47.99970], rtol=1e-6)


def test_q8_ffn_gives_each_row_of_each_weight_its_own_scale():
    gate, up = q8([[1] * 4] * 2, [1, 2]), q8([[1] * 4] * 2, [1, 0.5])
    silu4, silu8 = 4 / (1 + math.exp(-4)), 8 / (1 + math.exp(-8))
    np.testing.assert_allclose(ops.matvec_q8_ffn(*gate, *up, f32(1, 1, 1, 1)), [silu4 * 4, silu8 * 2], rtol=1e-6)


def test_q8_ffn_rounds_gate_up_and_silu_as_separate_ops_would():
    codes, scales = quantize_rows(uniform((64, 70), seed=5))
    gate, up, x = (pack_q8(codes), scales), (pack_q8(codes[::-1]), scales), uniform((70,), seed=6)
    fused = ops.matvec_q8_ffn(*gate, *up, x)
    silu = ops.activation(ops.matvec_q8(*gate, x), kind="silu")
    np.testing.assert_array_equal(fused, ops.elementwise(silu, ops.matvec_q8(*up, x), kind="multiply"))
    weights = [(c[:, :70] * scales.astype(np.float64)[:, None]) @ x.astype(np.float64) for c in (codes, codes[::-1])]
    assert (fused != (weights[0] / (1 + np.exp(-weights[0])) * weights[1]).astype(np.float32)).any()


def test_q8_residual_adds_each_rows_own_residual():
    assert ops.matvec_q8_residual(*q8([[1, -2, 3, -4]], [0.5]), f32(10, 20, 30, 40), f32(7)).tolist() == [-43]
    weight = q8([[1] * 4] * 2, [2, 5])
    assert ops.matvec_q8_residual(*weight, f32(1, 1, 1, 1), f32(100, 1000)).tolist() == [108, 1020]
    assert ops.matvec_q8_residual(*q8([[0] * 4] * 3, [1, 2, 3]), ONES[[0, 0, 0, 0]], f32(1, 20, 300)).tolist() == [
        1,
        20,
        300,
    ]


def test_q8_residual_rounds_the_product_first():
    # The product, 1 + 2^-24, is 1 in float32; with the residual it would be 1 + 2^-23.
    weight = q8([[1, 1]], [1])
    x = f32(1, 2**-24)
    assert ops.matvec_q8_residual(*weight, x, f32(2**-24)).tolist() == [1]


def test_q4g128_has_a_scale_for_each_group_of_a_row():
    codes = np.zeros((2, 130), np.int32)
    codes[0, [0, 127, 128, 129]], codes[1, [1, 128]] = [1, 2, 3, -4], [5, -6]
    scales = f32(0.5, 10, 2, 0.25).reshape(2, 2)
    x = np.arange(1, 131).astype(np.float32)
    want = [0.5 * (1 * 1 + 2 * 128) + 10 * (3 * 129 - 4 * 130), 2 * 5 * 2 + 0.25 * -6 * 129]
    assert ops.matvec_q4g128(pack_q4(codes), scales, x).tolist() == want


def test_q4g128_leaves_out_what_a_last_word_has_to_spare():
    assert ops.matvec_q4g128(np.array([[0x99999911]], np.uint32), f32(2).reshape(1, 1), f32(1, 1)).tolist() == [4]


def test_no_columns_give_zeros_or_the_residual():
    words, none, scale = np.zeros((2, 0), np.uint32), np.zeros(0, np.float32), f32(1, 2)
    assert ops.matvec_q8(words, scale, none).tolist() == [0, 0]
    assert ops.matvec_q8_ffn(words, scale, words, scale, none).tolist() == [0, 0]
    assert ops.matvec_q8_residual(words, scale, none, f32(3, 4)).tolist() == [3, 4]
    assert ops.matvec_q4g128(words, np.zeros((2, 0), np.float32), none).tolist() == [0, 0]


WORDS, SCALE, X = np.zeros((3, 2), np.uint32), np.ones(3, np.float32), np.ones(8, np.float32)


@pytest.mark.parametrize(
    ("op", "args", "text"),
    [
        ("matvec_q8", (WORDS, SCALE, X[:4]), r"weight must be uint32\[N, 1\] for K = 4, got uint32\[3, 2\]"),
        ("matvec_q8", (WORDS.astype(np.int32), SCALE, X), r"weight must be uint32\[N, 2\] for K = 8, got int32"),
        ("matvec_q8", (WORDS[0], SCALE, X), r"weight must be uint32\[N, 2\] for K = 8, got uint32\[2\]"),
        ("matvec_q8", (WORDS, SCALE[:2], X), r"scale must be float32\[3\], got float32\[2\]"),
        ("matvec_q8", (WORDS, SCALE.astype(np.int32), X), r"scale must be float32\[3\], got int32\[3\]"),
        ("matvec_q8", (WORDS, SCALE, X.astype(np.float16)), r"x must be float32 of shape \(K,\), got float16\[8\]"),
        ("matvec_q8", (WORDS, SCALE, X.reshape(1, 8)), r"x must be float32 of shape \(K,\), got float32\[1, 8\]"),
        ("matvec_q8_ffn", (WORDS, SCALE[:2], WORDS, SCALE, X), r"scale_gate must be float32\[3\], got float32\[2\]"),
        ("matvec_q8_ffn", (WORDS, SCALE, WORDS[:, :1], SCALE, X), r"weight_up must be uint32\[N, 2\] for K = 8, got"),
        ("matvec_q8_ffn", (WORDS, SCALE, WORDS[:2], SCALE[:2], X), r"weight_up must be of 3 rows as weight_gate is"),
        ("matvec_q8_residual", (WORDS, SCALE, X, X), r"residual must be float32\[3\], got float32\[8\]"),
        ("matvec_q4g128", (WORDS, SCALE.reshape(3, 1), X), r"weight must be uint32\[N, 1\] for K = 8, got uint32"),
        ("matvec_q4g128", (WORDS[:, :1], SCALE, X), r"scale must be float32\[3, 1\], got float32\[3\]"),
    ],
)
def test_a_quantised_weight_that_does_not_fit_is_named(op, args, text):
    with pytest.raises(ShapeError, match=f"^{op}: {text}"):
        getattr(ops, op)(*args)


def quantised(op, n, k):
    """Specs of the arguments of a quantised product."""
    words, x = Spec((n, -(-k // (8 if "q4" in op else 4))), "uint32"), Spec((k,), "float32")
    scale = Spec((n, -(-k // 128)) if "q4" in op else (n,), "float32")
    return {"matvec_q8_ffn": (words, scale) * 2, "matvec_q8_residual": (words, scale)}.get(op, (words, scale)) + (
        (x, scale) if op == "matvec_q8_residual" else (x,)
    )


@pytest.mark.parametrize(
    ("op", "k", "labels"),
    [
        ("matvec_q8", 48, ["matvec/kernel.subgroups:apart/q8"]),
        ("matvec_q8", 52, ["matvec/ragged.subgroups:apart/q8_ragged"]),
        ("matvec_q4g128", 96, ["matvec/kernel.subgroups:apart/q4g128"]),
        ("matvec_q4g128", 80, ["matvec/ragged.subgroups:apart/q4g128_ragged"]),
        ("matvec_q8_residual", 48, ["matvec/q8_residual.subgroups"]),
        ("matvec_q8_residual", 52, ["matvec/ragged.subgroups:apart/q8_ragged", "elementwise/kernel"]),
        ("matvec_q8_ffn", 48, ["matvec/q8_ffn.subgroups"]),
        (
            "matvec_q8_ffn",
            52,
            [*["matvec/ragged.subgroups:apart/q8_ragged"] * 2, "activation/kernel", "elementwise/kernel"],
        ),
    ],
)
def test_rows_of_whole_loads_take_one_dispatch(wide_gpu, op, k, labels):
    _, plan = getattr(ops, op).plan_of(wide_gpu, *quantised(op, 5, k))
    assert [d.kernel.label for d in plan.dispatches] == labels


@pytest.mark.parametrize("n", [1, 127, 128, 129, 49_152])
@pytest.mark.parametrize("size", [4, 8, 32, 64])
def test_the_grid_of_a_fused_layer_covers_every_row_at_every_subgroup_size(wide_gpu, n, size):
    gpu = replace(wide_gpu, subgroup_sizes=(size, 64))
    _, plan = ops.matvec_q8_ffn.plan_of(gpu, *quantised("matvec_q8_ffn", n, 576))
    (dispatch,) = plan.dispatches
    lanes = min(dispatch.constants["LANES"], size)
    assert dispatch.grid[0] * dispatch.grid[1] * (128 // size) * (size // lanes) >= n


@pytest.mark.parametrize("op", ["matvec_q8", "matvec_q8_ffn", "matvec_q8_residual", "matvec_q4g128"])
def test_quantised_rows_past_a_bindings_limit_run_in_chunks(wide_gpu, op):
    gpu = replace(wide_gpu, limits={**wide_gpu.limits, "maxStorageBufferBindingSize": 1 << 20})
    n, k = 3000, 2560
    specs = quantised(op, n, k)
    outputs, plan = getattr(ops, op).plan_of(gpu, *specs)
    rows = [d.constants["N"] for d in plan.dispatches]
    assert (sum(rows), len(rows) > 1) == (n, True)
    calls = bind(plan, [(i, 0, s.nbytes) for i, s in enumerate(specs)], [(9, 0, outputs[0].nbytes)], [])
    encode(op, calls, dict(gpu.limits))
    for i, spec in enumerate(specs):
        parts = [b for d in plan.dispatches for b in d.bindings if (b.source, b.index) == ("in", i)]
        if spec.shape == (k,):
            assert {(b.offset, b.nbytes) for b in parts} == {(0, 0)}
        else:  # the chunks tile the array in order
            assert [b.offset for b in parts] == [sum(b.nbytes for b in parts[:j]) for j in range(len(parts))]
            assert sum(b.nbytes for b in parts) == spec.nbytes


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
    weight = block_weight(name, (2, 256))
    _, plan = ops.matvec.plan_of(plain_gpu, Spec(weight.shape, name), Spec((256,), "float32"))
    module = assemble(plan.dispatches[0].kernel)
    files = [file for file, _, _ in module.segments]
    assert (f"_with/weights/{name}.wgsl" in files, files[-1]) == (True, "matvec/kernel.wgsl")
