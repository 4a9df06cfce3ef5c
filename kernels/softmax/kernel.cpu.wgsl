// with: real_f32 team_alone softmax_line
// Rows of float32, a thread each. Reference: webxpu/ops/softmax.py.
