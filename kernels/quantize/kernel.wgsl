// with: team_tree quantize_line
// Rows, a workgroup each, whose threads meet in a tree. Reference: webxpu/ops/quantize.py.
