// with: real_f16 team_subgroups group_norm_line
// Groups of float16, a workgroup each, whose threads meet in their subgroups first. Reference: webxpu/ops/group_norm.py.
