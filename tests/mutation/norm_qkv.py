"""Mutants of norm_qkv."""

from tests.mutation import Mutant

QKV, ROPE = "kernels/_with/qkv.wgsl", "kernels/norm_qkv/rope_write.wgsl"
F16, FEW = "kernels/_with/kv_write/f16.wgsl", "kernels/_with/few_rows.wgsl"
KERNEL, SUBGROUPS = "kernels/norm_qkv/kernel.wgsl", "kernels/norm_qkv/kernel.subgroups.wgsl"
OP, TEST = "webxpu/ops/norm_qkv.py", "tests/ops/test_norm_qkv.py"
NINE, NORMED = "norm_qkv-f32-9-rows-4.2.16-half-bias-unroped", "norm_qkv-f32-9-rows-4.2.16-half-bias-norm"
WRITTEN = "rope_write-f32-6-rows-4.2.16-half-bias-norm"

MUTANTS = [
    Mutant(QKV, "value += pair.bias;", "", "norm_qkv-f32-1-rows-4.2.16-half-bias-unroped", "the bias"),
    Mutant(
        QKV,
        "if (head < TURNED)",
        "if (head < HEADS + KV_HEADS)",
        "norm_qkv-f32-1-rows-4.2.16-half-bias-unroped",
        "unroped keys",
    ),
    Mutant(QKV, "if (head < TURNED)", "if (true)", "norm_qkv-smollm2", "values are not turned"),
    Mutant(QKV, "else if (pair.writes)", "else", "norm_qkv-past-the-capacity", "rows that write nothing"),
    Mutant(
        F16,
        "pack2x16float(values)",
        "pack2x16float(values.yx)",
        "norm_qkv-f16-1-rows-4.2.16-adjacent-bias",
        "the order of a pair",
    ),
    Mutant(
        F16,
        "values[0], values[1]",
        "values[1], values[0]",
        "rope_write-f16-6-rows-4.2.16-half",
        "the order of neighbours",
    ),
    Mutant(FEW, "vec2<u32>(group % rows, group / rows)", "vec2<u32>(0u, group / rows)", NINE, "the row of a workgroup"),
    Mutant(
        FEW,
        "vec2<u32>(group % rows, group / rows)",
        "vec2<u32>(group % rows, group)",
        NINE,
        "the workgroup among its row's",
    ),
    Mutant(KERNEL, "load_block(row, i)", "load_block(0u, i)", NINE, "the row that is read"),
    Mutant(SUBGROUPS, "load_octet(row, first + lane)", "load_octet(0u, first + lane)", NINE, "the row that is read"),
    Mutant(ROPE, "return value + bias[head * D + i];", "return value + bias[i];", WRITTEN, "the bias of a head"),
    Mutant(ROPE, "squares / f32(D)", "squares", WRITTEN, "the mean of squares"),
    Mutant(ROPE, "NORM == 0u || head >= HEADS + KV_HEADS", "NORM == 0u", WRITTEN, "values are not normed"),
    Mutant(ROPE, "value * root * k_gain[i]", "value * root * q_gain[i]", WRITTEN, "the gain of k"),
    Mutant(
        ROPE,
        "if (head >= TURNED)",
        "if (head >= HEADS + KV_HEADS)",
        "rope_write-f32-6-rows-4.2.16-half-norm-unroped",
        "unroped keys",
    ),
    Mutant(ROPE, "select(other, -other, is_first)", "other", WRITTEN, "the sign of the first of a pair"),
    Mutant(
        ROPE, "select(i ^ 1u,", "select(i,", "rope_write-f32-6-rows-4.2.16-adjacent-norm", "the partner of a neighbour"
    ),
    Mutant(
        ROPE,
        "arrayLength(&table) / half - 1u",
        "arrayLength(&table) / half - 2u",
        "rope_write-past-the-table",
        "positions past the table",
    ),
    Mutant(ROPE, "} else if (is_live(row)) {", "} else {", "rope_write-past-the-capacity", "rows that write nothing"),
    Mutant(ROPE, "select(0u, VALUE_ROWS, is_value)", "VALUE_ROWS", WRITTEN, "keys and values have places of their own"),
    Mutant(
        OP,
        "        x = x + bias.reshape(-1, d)",
        "        x = x",
        f"{TEST}::test_a_bias_and_the_norms_of_q_and_k_are_those_of_transformers",
        "the bias",
    ),
    Mutant(
        OP,
        '    if keys == "roped":\n',
        "    if True:\n",
        f"{TEST}::test_unroped_keys_are_written_as_they_are_before_rope",
        "unroped keys",
    ),
]
