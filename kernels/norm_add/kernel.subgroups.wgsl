// with: team_subgroups norm_add_line
// A workgroup a row, whose threads meet in their subgroups first. Reference: webxpu/ops/norm_add.py.
