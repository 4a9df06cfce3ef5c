// with: real_f32 group_norm_apply
// Elements of float32, four a thread. Reference: webxpu/ops/group_norm.py.
