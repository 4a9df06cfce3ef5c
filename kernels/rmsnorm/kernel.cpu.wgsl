// with: real_f32 team_alone rmsnorm_line
// Rows of float32, a thread each. Reference: webxpu/ops/rmsnorm.py.
