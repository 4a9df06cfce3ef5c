// with: real_f32 team_tree reduce_line
// One output a workgroup, whose threads meet in a tree: for values that lie side by side. Reference: webxpu/ops/reduce.py.
