// A workgroup of 256 threads finds the best of 2,048 values and its index; of equals the lowest index.
// Reference: webxpu/ops/argmax.py. x (V,); best_value and best_index: one a workgroup.

override V: u32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> best_value: array<f32>;
@group(0) @binding(2) var<storage, read_write> best_index: array<u32>;

var<workgroup> values: array<f32, 256>;
var<workgroup> indices: array<u32, 256>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let group = wid.x + wid.y * num.x;
    // Past the end the last value is looked at again, with its own index: that changes no answer.
    var index = min(group * 2048u + local, V - 1u);
    var value = x[index];
    for (var i = group * 2048u + local + 256u; i < min((group + 1u) * 2048u, V); i += 256u) {
        if (x[i] > value) {
            value = x[i];
            index = i;
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
    if (local == 0u && group < arrayLength(&best_value)) {
        best_value[group] = values[0];
        best_index[group] = indices[0];
    }
}
