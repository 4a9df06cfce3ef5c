// A workgroup of THREADS computes one row: the maximum, then the sum of exponentials, each met in a tree.
// Reference: webxpu/ops/softmax.py. x (rows, D), out (rows, D).

override D: u32;
override THREADS: u32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

var<workgroup> partial: array<f32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = arrayLength(&out) / D;
    let row = min(wid.x + wid.y * num.x, rows - 1u); // past the end the last row is computed again
    var largest = -0x1.fffffep127f;
    for (var i = local; i < D; i += THREADS) {
        largest = max(largest, x[row * D + i]);
    }
    partial[local] = largest;
    workgroupBarrier();
    for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
        if (local < stride) {
            partial[local] = max(partial[local], partial[local + stride]);
        }
        workgroupBarrier();
    }
    largest = partial[0];
    workgroupBarrier(); // everyone has read the maximum
    var sum = 0.0;
    for (var i = local; i < D; i += THREADS) {
        sum += exp(x[row * D + i] - largest);
    }
    partial[local] = sum;
    workgroupBarrier();
    for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
        if (local < stride) {
            partial[local] += partial[local + stride];
        }
        workgroupBarrier();
    }
    for (var i = local; i < D; i += THREADS) {
        out[row * D + i] = exp(x[row * D + i] - largest) / partial[0];
    }
}
