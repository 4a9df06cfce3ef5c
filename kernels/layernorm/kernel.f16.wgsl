// with: real_f16 team_tree layernorm_line
// Rows of float16, a workgroup each, whose threads meet in a tree. Reference: webxpu/ops/layernorm.py.
