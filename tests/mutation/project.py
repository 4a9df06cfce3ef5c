"""Mutants of the layers and heads of a few rows."""

from tests.mutation import Mutant

FEW = "kernels/_with/few_rows.wgsl"
PROJECT = "kernels/project/kernel.wgsl"
ATTEND_CPU = "kernels/project/attend.cpu.wgsl"
BEST = "kernels/norm_head/argmax.wgsl"

MUTANTS = [
    Mutant(FEW, "vec2<u32>(group % rows, ", "vec2<u32>(0u, ", "project-f32-9-rows", "each row has its workgroups"),
    Mutant(PROJECT, "place.x * N + columns[u]", "columns[u]", "project-q4_1-2-rows", "each row has its place"),
    Mutant(PROJECT, "load_block(place.x, i)", "load_block(0u, i)", "project-q4_1-2-rows", "each row has its x"),
    Mutant("kernels/_with/before.wgsl", "ADDS == 1u", "true", "project-q4_1-3-rows-alone", "nothing is added"),
    Mutant(
        ATTEND_CPU,
        "let first = (place.x * (K / D) + head)",
        "let first = head",
        "attend_project-3-rows-of-2x2x32",
        "stats",
    ),
    Mutant(BEST, "first + 64u, N)", "first + 64u, 2u * N)", "norm_head_rows_argmax-f32-9x67x36", "a row ends at V"),
    Mutant(BEST, "candidate % ((N + 63u) / 64u)", "candidate", "norm_head_rows_argmax-q4_1-2x131x96", "a later row"),
]
