// with: real_f32 team_tree group_norm_line
// Groups of float32, a workgroup each, whose threads meet in a tree. Reference: webxpu/ops/group_norm.py.
