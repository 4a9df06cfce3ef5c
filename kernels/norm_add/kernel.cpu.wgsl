// with: team_alone norm_add_line
// A thread a row. Reference: webxpu/ops/norm_add.py.
