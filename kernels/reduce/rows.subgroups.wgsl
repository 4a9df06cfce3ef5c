// with: real_f32 team_subgroups reduce_line
// One output a workgroup, whose threads meet in their subgroups first: for values that lie side by side.
// Reference: webxpu/ops/reduce.py.
