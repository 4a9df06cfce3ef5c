// with: team_tree norm_add_line
// A workgroup a row, whose threads meet in a tree. Reference: webxpu/ops/norm_add.py.
