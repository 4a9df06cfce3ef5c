// A workgroup of 256 threads finds the best of 2,048 values and its index, within its subgroups and then across them; of
// equals the lowest index.
// Reference: webxpu/ops/argmax.py. x (V,); best_value and best_index: one a workgroup.
enable subgroups;
requires subgroup_id;

override V: u32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> best_value: array<f32>;
@group(0) @binding(2) var<storage, read_write> best_index: array<u32>;

// One a subgroup: at most 256 / 4.
var<workgroup> values: array<f32, 64>;
var<workgroup> indices: array<u32, 64>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_size) size: u32,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    let group = wid.x + wid.y * num.x;
    let local = subgroup * size + lane;
    // Past the end the last value is looked at again, with its own index: that changes no answer.
    var index = min(group * 2048u + local, V - 1u);
    var value = x[index];
    for (var i = group * 2048u + local + 256u; i < min((group + 1u) * 2048u, V); i += 256u) {
        if (x[i] > value) {
            value = x[i];
            index = i;
        }
    }
    let largest = subgroupMax(value);
    let lowest = subgroupMin(select(V - 1u, index, value == largest)); // no NaN equals: the index stays in range
    if (lane == 0u) {
        values[subgroup] = largest;
        indices[subgroup] = lowest;
    }
    workgroupBarrier();
    if (local == 0u && group < arrayLength(&best_value)) {
        var best = values[0];
        var at = indices[0];
        for (var i = 1u; i < subgroups; i++) {
            if (values[i] > best || (values[i] == best && indices[i] < at)) {
                best = values[i];
                at = indices[i];
            }
        }
        best_value[group] = best;
        best_index[group] = at;
    }
}
