"""Mutants of attend."""

from tests.mutation import Mutant

SPANS, KEYS = "kernels/_with/spans.wgsl", "kernels/_with/keys.wgsl"
F16, Q8 = "kernels/_with/kv/f16.wgsl", "kernels/_with/kv/q8.wgsl"
DECODE, SUBGROUPS = "kernels/attend/decode.wgsl", "kernels/attend/decode.subgroups.wgsl"
PREFILL, OP = "kernels/attend/prefill.wgsl", "webxpu/ops/attend.py"
TEST = "tests/ops/test_attend.py"
WINDOW, WINDOWS = "attend-f32-1-rows-4.2.64-at-150-window-40", "attend-f32-20-rows-4.2.64-at-150-window-40"
HALF, ADJACENT = "attend-f32-1-rows-4.2.64-at-70-turned-half", "attend-f32-1-rows-4.2.64-at-70-turned-adjacent"
FEW = "attend-3-rows-6.2.128-at-60-in-2"

MUTANTS = [
    Mutant(SPANS, "keys - min(keys, WINDOW)", "0u", WINDOW, "what lies before the window"),
    Mutant(
        SPANS, "keys - min(keys, WINDOW)", "keys - min(keys, WINDOW + 1u)", WINDOW, "the first key before the window"
    ),
    Mutant(
        SPANS,
        "keys - min(keys, WINDOW)",
        "keys - WINDOW",
        "attend-f32-1-rows-2.1.16-at-30-window-100",
        "a window wider than the keys",
    ),
    Mutant(SPANS, "WINDOW > 0u", "true", "attend-one-row-9.3.64-at-199-in-8", "no window"),
    Mutant(
        SPANS,
        "(keys - first + PARTS - 1u) / PARTS",
        "(keys + PARTS - 1u) / PARTS",
        WINDOW,
        "parts of the window, not of all keys",
    ),
    Mutant(SPANS, "state.position + row + 1u", "state.position + 1u", FEW, "a row of its own position"),
    Mutant(SPANS, "is_live(row)", "true", "attend-past-the-capacity-6", "rows past the capacity"),
    Mutant(
        KEYS,
        "min(position, arrayLength(&table) / WIDE - 1u)",
        "min(position, arrayLength(&table) / WIDE - 2u)",
        "attend-f32-1-rows-2.1.24-at-90-turned-half",
        "keys past the table take its last row",
    ),
    Mutant(KEYS, "own.x * t.x - own.y * t.y", "own.x * t.x + own.y * t.y", ADJACENT, "the direction of a turn"),
    Mutant(KEYS, "own.z * t.z - own.w * t.w", "own.z * t.x - own.w * t.y", ADJACENT, "the second pair of a quad"),
    Mutant(KEYS, "select(other, -other, c < half)", "other", HALF, "the sign of the first half"),
    Mutant(
        KEYS,
        "(c + half) % WIDE",
        "c + half",
        "attend-f32-1-rows-2.1.24-at-90-turned-half",
        "the partner of the second half",
    ),
    Mutant(KEYS, "2u * (c % half)]", "2u * c]", HALF, "the second half has the turns of the first"),
    Mutant(
        F16,
        "unpack2x16float(words.y)",
        "unpack2x16float(words.x)",
        "attend-f16-1-rows-4.2.64-at-70",
        "the second pair of a quad",
    ),
    Mutant(Q8, "c / 8u) * 9u", "c / 8u) * 8u", "attend-q8-1-rows-4.2.64-at-70", "nine words a block"),
    Mutant(Q8, "1u + c % 8u", "c % 8u", "attend-q8-1-rows-4.2.64-at-70", "codes stand behind the scale"),
    Mutant(DECODE, "let row = query / H;", "let row = 0u;", FEW, "the row of a workgroup"),
    Mutant(SUBGROUPS, "let row = query / H;", "let row = 0u;", FEW, "the row of a workgroup"),
    Mutant(SUBGROUPS, "let head = query % H;", "let head = query;", FEW, "the head of a workgroup"),
    Mutant(
        PREFILL, "span_of(top, part).start", "span_of(top, part).start + 1u", WINDOWS, "the first key of the first row"
    ),
    Mutant(PREFILL, "max(bottom, 1u) - 1u, part)", "top, part)", WINDOWS, "the keys of the last row"),
    Mutant(
        PREFILL,
        "if (value_rows == 0u) {",
        "if (true) {",
        "attend-f32-20-rows-4.2.64-at-70-turned-half",
        "values are not turned",
    ),
    Mutant(PREFILL, "(key >= vec4<u32>(span.start)) & ", "", WINDOWS, "keys before the window of a later row"),
    Mutant(
        OP,
        "max(0, end - window) if window else 0",
        "max(0, end - window - 1) if window else 0",
        f"{TEST}::test_parts_divide_the_keys_of_a_window",
        "the first key of a window",
    ),
    Mutant(
        OP,
        "len(acc.shape) == 4 and acc.shape[3] % 4 == 0",
        "len(acc.shape) == 4",
        "tests/ops/test_project.py::test_a_head_width_that_is_no_multiple_of_4_is_refused",
        "loads of four numbers",
    ),
]
