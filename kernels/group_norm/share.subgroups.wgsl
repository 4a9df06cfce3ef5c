// with: real_f32 team_subgroups group_norm_share
// Shares of groups of float32, a workgroup each, whose threads meet in their subgroups first. Reference: webxpu/ops/group_norm.py.
