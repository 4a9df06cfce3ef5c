// with: real_f16 team_tree group_norm_line
// Groups of float16, a workgroup each, whose threads meet in a tree. Reference: webxpu/ops/group_norm.py.
