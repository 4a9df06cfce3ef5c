// One workgroup of 256 threads picks the winner of the winners; of equals the lowest index.
// Reference: webxpu/ops/argmax.py. best_value and best_index (WINNERS,), out (1,).

override WINNERS: u32;

@group(0) @binding(0) var<storage, read> best_value: array<f32>;
@group(0) @binding(1) var<storage, read> best_index: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<i32>;

var<workgroup> values: array<f32, 256>;
var<workgroup> indices: array<u32, 256>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) local: u32) {
    var value = best_value[min(local, WINNERS - 1u)];
    var index = best_index[min(local, WINNERS - 1u)];
    for (var i = local + 256u; i < WINNERS; i += 256u) {
        if (best_value[i] > value) {
            value = best_value[i];
            index = best_index[i];
        }
    }
    values[local] = value;
    indices[local] = index;
    workgroupBarrier();
    for (var stride = 128u; stride > 0u; stride /= 2u) {
        if (local < stride) {
            let other = local + stride;
            if (values[other] > values[local] || (values[other] == values[local] && indices[other] < indices[local])) {
                values[local] = values[other];
                indices[local] = indices[other];
            }
        }
        workgroupBarrier();
    }
    if (local == 0u) {
        out[0] = i32(indices[0]);
    }
}
