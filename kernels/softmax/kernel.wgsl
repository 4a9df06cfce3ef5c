// with: real_f32 team_tree softmax_line
// Rows of float32, a workgroup each, whose threads meet in a tree. Reference: webxpu/ops/softmax.py.
