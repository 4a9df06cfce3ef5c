// A workgroup of THREADS computes one row: partial sums meet within each subgroup, then across them after one barrier.
// Reference: webxpu/ops/rmsnorm.py. x (rows, D), weight (GROUPS, D), out (rows, D).
enable subgroups;
requires subgroup_id;

override D: u32;
override GROUPS: u32;
override EPS: f32;
override THREADS: u32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

var<workgroup> partial: array<f32, 64>; // one a subgroup: at most THREADS / 4

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_size) size: u32,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    let rows = arrayLength(&out) / D;
    let row = min(wid.x + wid.y * num.x, rows - 1u); // past the end the last row is computed again
    let first = subgroup * size + lane;
    var sum = 0.0;
    for (var i = first; i < D; i += THREADS) {
        let v = x[row * D + i];
        sum += v * v;
    }
    sum = subgroupAdd(sum);
    if (lane == 0u) {
        partial[subgroup] = sum;
    }
    workgroupBarrier();
    var total = 0.0;
    for (var i = 0u; i < subgroups; i++) {
        total += partial[i];
    }
    let scale = 1.0 / sqrt(total / f32(D) + EPS);
    for (var i = first; i < D; i += THREADS) {
        out[row * D + i] = x[row * D + i] * scale * weight[row % GROUPS * D + i];
    }
}
