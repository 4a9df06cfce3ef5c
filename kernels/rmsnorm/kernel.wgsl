// with: real_f32 team_tree rmsnorm_line
// Rows of float32, a workgroup each, whose threads meet in a tree. Reference: webxpu/ops/rmsnorm.py.
