// with: real_f16 team_subgroups layernorm_line
// Rows of float16, a workgroup each, whose threads meet in their subgroups first. Reference: webxpu/ops/layernorm.py.
