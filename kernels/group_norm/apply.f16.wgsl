// with: real_f16 group_norm_apply
// Elements of float16, four a thread. Reference: webxpu/ops/group_norm.py.
