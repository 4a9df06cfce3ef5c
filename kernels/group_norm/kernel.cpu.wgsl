// with: real_f32 team_alone group_norm_line
// Groups of float32, a thread each. Reference: webxpu/ops/group_norm.py.
