// with: team_subgroups quantize_line
// Rows, a workgroup each, whose threads meet in their subgroups first. Reference: webxpu/ops/quantize.py.
