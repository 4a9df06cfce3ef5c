// with: real_f32 team_alone reduce_line
// One output a thread, neighbours side by side: for values that lie apart, and for few of them.
// Reference: webxpu/ops/reduce.py.
