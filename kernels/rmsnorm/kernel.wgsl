// A workgroup of THREADS computes one row: a lane's partial sums meet in a tree.
// Reference: webxpu/ops/rmsnorm.py. x (rows, D), weight (GROUPS, D), out (rows, D).

override D: u32;
override GROUPS: u32;
override EPS: f32;
override THREADS: u32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

var<workgroup> partial: array<f32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = arrayLength(&out) / D;
    let row = min(wid.x + wid.y * num.x, rows - 1u); // past the end the last row is computed again
    var sum = 0.0;
    for (var i = local; i < D; i += THREADS) {
        let v = x[row * D + i];
        sum += v * v;
    }
    partial[local] = sum;
    workgroupBarrier();
    for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
        if (local < stride) {
            partial[local] += partial[local + stride];
        }
        workgroupBarrier();
    }
    let scale = 1.0 / sqrt(partial[0] / f32(D) + EPS);
    for (var i = local; i < D; i += THREADS) {
        out[row * D + i] = x[row * D + i] * scale * weight[row % GROUPS * D + i];
    }
}
