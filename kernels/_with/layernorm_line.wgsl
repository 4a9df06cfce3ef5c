// with: moments
// A team computes one line. Reference: webxpu/ops/layernorm.py. x (rows, D), weight (D,), bias (D,), out (rows, D).

override D: u32;

@group(0) @binding(0) var<storage, read> x: array<Real>;
@group(0) @binding(1) var<storage, read> weight: array<Real>;
@group(0) @binding(2) var<storage, read> bias: array<Real>;
@group(0) @binding(3) var<storage, read_write> out: array<Real>;

@compute @workgroup_size(THREADS)
fn main(thread: Thread) {
    let base = team_line(thread, arrayLength(&out) / D) * D;
    let moments = moments_of(thread, base, D);
    for (var i = team_first(thread); i < D; i += team_step()) {
        out[base + i] = normed(moments, x[base + i], weight[i], bias[i]);
    }
}
