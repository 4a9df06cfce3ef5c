"""Mutants of the layers and heads of a few rows."""

from tests.mutation import Mutant

ROWS = "kernels/project/rows.wgsl"
ATTEND = "kernels/project/attend_rows.wgsl"
ATTEND_CPU = "kernels/project/attend_rows.cpu.wgsl"
GATE_UP = "kernels/norm_gate_up/rows.wgsl"
HEAD = "kernels/norm_head/rows.wgsl"
BEST = "kernels/norm_head/argmax.wgsl"

MUTANTS = [
    Mutant(
        ROWS, "let at = row * N + columns[u];", "let at = columns[u];", "project-q4_1-2-rows", "each row has its place"
    ),
    Mutant(ROWS, "sums[row].y +=", "sums[0].y +=", "project-q4_1-2-rows", "each row has its sums"),
    Mutant("kernels/_with/before.wgsl", "ADDS == 1u", "true", "project-q4_1-3-rows-alone", "nothing is added"),
    Mutant(
        ATTEND, "joined(first * (K / 4u) + quad)", "joined(quad)", "attend_project-9-rows-of-20x1x128", "later rows"
    ),
    Mutant(
        ATTEND, "sums = array<f32, 9>()", "sums: array<f32, 9>", "attend_project-9-rows-of-20x1x128", "sums begin at 0"
    ),
    Mutant(
        ATTEND_CPU, "let at = (row * (K / D) + head)", "let at = head", "attend_project-3-rows-of-2x2x32", "its stats"
    ),
    Mutant(GATE_UP, "root(squares[row])", "root(squares[0])", "norm_gate_up-q4_1-2-rows", "each row has its norm"),
    Mutant(HEAD, "root(squares[row])", "root(squares[0])", "norm_head_rows-q4_1-2x131x96", "each row has its norm"),
    Mutant(
        HEAD, "out[row * N + first + i]", "out[first + i]", "norm_head_rows-q4_1-2x131x96", "each row has its place"
    ),
    Mutant(BEST, "first + 64u, N)", "first + 64u, 2u * N)", "norm_head_rows_argmax-f32-9x67x36", "a row ends at V"),
    Mutant(BEST, "candidate % ((N + 63u) / 64u)", "candidate", "norm_head_rows_argmax-q4_1-2x131x96", "a later row"),
]
