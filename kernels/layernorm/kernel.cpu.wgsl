// with: real_f32 team_alone layernorm_line
// Rows of float32, a thread each. Reference: webxpu/ops/layernorm.py.
