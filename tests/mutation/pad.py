"""Mutants of pad."""

from tests.mutation import Mutant

KERNEL = "kernels/pad/kernel.wgsl"
OP = "webxpu/ops/pad.py"
TEST = "tests/ops/test_pad.py"
BAD = f"{TEST}::test_what_does_not_fit_is_named"

MUTANTS = [
    Mutant(KERNEL, "last - abs(last - abs(p))", "clamp(p, 0, last)", "pad-reflect-axis-1", "reflect is not replicate"),
    Mutant(KERNEL, "last - abs(last - abs(p))", "abs(p)", "pad-reflect-after-only", "reflected past the end"),
    Mutant(
        KERNEL,
        "last - abs(last - abs(p))",
        "last + 1 - abs(last - abs(p + 1) + 1)",
        "pad-reflect-axis-1",
        "the edge is not repeated",
    ),
    Mutant(
        KERNEL, "return clamp(p, 0, last);", "return max(p, 0);", "pad-replicate-after-only", "replicated past the end"
    ),
    Mutant(
        KERNEL,
        "return clamp(p, 0, last);",
        "return min(p, last);",
        "pad-replicate-causal",
        "replicated before the start",
    ),
    Mutant(KERNEL, "u32(p) >= length", "u32(p) > length", "pad-constant-axis-1", "the first place past x"),
    Mutant(KERNEL, "u32(p) >= length", "p >= i32(length)", "pad-constant-causal", "places before x"),
    Mutant(KERNEL, "(BATCH * INNER)", "BATCH", "pad-reflect-axis-1", "the axis' length"),
    Mutant(KERNEL, "- BEFORE - AFTER;", "- BEFORE;", "pad-replicate-after-only", "the length of x"),
    Mutant(
        KERNEL,
        "let batch = i / INNER / padded;",
        "let batch = 0u;",
        "pad-reflect-axis-1",
        "what stands before the axis",
    ),
    Mutant(KERNEL, "* INNER + i % INNER", "* INNER", "pad-reflect-axis-1", "what stands past the axis"),
    Mutant(OP, '"replicate": "edge"', '"replicate": "wrap"', f"{TEST}::test_each_mode_by_hand", "replicate"),
    Mutant(OP, "amount < max(length, 1)", "amount <= length", BAD, "reflect's limit"),
    Mutant(
        OP,
        "widths[axis] = (before, after)",
        "widths[axis] = (after, before)",
        f"{TEST}::test_each_mode_by_hand",
        "before is before",
    ),
]
