// with: real_f32 team_alone group_norm_share
// Shares of groups of float32, a thread each. Reference: webxpu/ops/group_norm.py.
