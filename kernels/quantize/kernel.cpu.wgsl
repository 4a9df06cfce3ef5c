// with: team_alone quantize_line
// Rows, a thread each. Reference: webxpu/ops/quantize.py.
