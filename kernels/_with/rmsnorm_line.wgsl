// with: totals
// A team computes one line. Reference: webxpu/ops/rmsnorm.py. x (rows, D), weight (GROUPS, D), out (rows, D).

override D: u32;
override GROUPS: u32;
override EPS: f32;

@group(0) @binding(0) var<storage, read> x: array<Real>;
@group(0) @binding(1) var<storage, read> weight: array<Real>;
@group(0) @binding(2) var<storage, read_write> out: array<Real>;

@compute @workgroup_size(THREADS)
fn main(thread: Thread) {
    let row = team_line(thread, arrayLength(&out) / D);
    let base = row * D;
    let squares = total(base + team_first(thread), base + D, team_step(), 0.0, 0.0, true);
    let scale = 1.0 / sqrt(team_sum(thread, 0u, squares) / f32(D) + EPS);
    for (var i = team_first(thread); i < D; i += team_step()) {
        out[base + i] = Real(f32(x[base + i]) * scale * f32(weight[row % GROUPS * D + i]));
    }
}
