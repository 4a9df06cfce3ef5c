// with: totals
// A team computes one line. Reference: webxpu/ops/norm_add.py. x (L, D), gain (D,), residual (L, D), out (L, D).

override D: u32;
override EPS: f32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> gain: array<f32>;
@group(0) @binding(2) var<storage, read> residual: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(THREADS)
fn main(thread: Thread) {
    let base = team_line(thread, arrayLength(&out) / D) * D;
    let squares = total(base + team_first(thread), base + D, team_step(), 0.0, 0.0, true);
    let scale = 1.0 / sqrt(team_sum(thread, 0u, squares) / f32(D) + EPS);
    for (var i = team_first(thread); i < D; i += team_step()) {
        out[base + i] = residual[base + i] + x[base + i] * scale * gain[i];
    }
}
