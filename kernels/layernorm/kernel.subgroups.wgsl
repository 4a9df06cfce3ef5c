// with: real_f32 team_subgroups layernorm_line
// Rows of float32, a workgroup each, whose threads meet in their subgroups first. Reference: webxpu/ops/layernorm.py.
