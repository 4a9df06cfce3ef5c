// A workgroup of THREADS computes one row: the maximum, then the sum of exponentials, each met within the subgroups and
// across them after one barrier.
// Reference: webxpu/ops/softmax.py. x (rows, D), out (rows, D).
enable subgroups;
requires subgroup_id;

override D: u32;
override THREADS: u32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

// One a subgroup: at most THREADS / 4.
var<workgroup> maxima: array<f32, 64>;
var<workgroup> sums: array<f32, 64>;

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
    var largest = -0x1.fffffep127f;
    for (var i = first; i < D; i += THREADS) {
        largest = max(largest, x[row * D + i]);
    }
    largest = subgroupMax(largest);
    if (lane == 0u) {
        maxima[subgroup] = largest;
    }
    workgroupBarrier();
    for (var i = 0u; i < subgroups; i++) {
        largest = max(largest, maxima[i]);
    }
    var sum = 0.0;
    for (var i = first; i < D; i += THREADS) {
        sum += exp(x[row * D + i] - largest);
    }
    sum = subgroupAdd(sum);
    if (lane == 0u) {
        sums[subgroup] = sum;
    }
    workgroupBarrier();
    var total = 0.0;
    for (var i = 0u; i < subgroups; i++) {
        total += sums[i];
    }
    for (var i = first; i < D; i += THREADS) {
        out[row * D + i] = exp(x[row * D + i] - largest) / total;
    }
}
