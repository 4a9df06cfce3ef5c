// with: grouped moments
// A team computes one group. Reference: webxpu/ops/group_norm.py. x (N, C, L), weight (C,), bias (C,), out (N, C, L).

@group(0) @binding(0) var<storage, read> x: array<Real>;
@group(0) @binding(1) var<storage, read> weight: array<Real>;
@group(0) @binding(2) var<storage, read> bias: array<Real>;
@group(0) @binding(3) var<storage, read_write> out: array<Real>;

@compute @workgroup_size(THREADS)
fn main(thread: Thread) {
    let group = team_line(thread, N * C / PER);
    let length = channel_length();
    let count = PER * length;
    let base = group * count;
    let moments = moments_of(thread, base, count);
    for (var i = team_first(thread); i < count; i += team_step()) {
        let channel = group * PER % C + i / length;
        out[base + i] = normed(moments, x[base + i], weight[channel], bias[channel]);
    }
}
