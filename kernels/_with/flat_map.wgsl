// with: flat
// Each element of out is a function of its index: the kernel gives `Value`, what out holds, and `value_at(index)`. A thread
// computes its four before it stores one, so that their loads are on their way together: a store might change what a
// later load sees, so no compiler moves a load before it.

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let length = arrayLength(&out);
    var values: array<Value, 4>;
    for (var step = 0u; step < 4u; step++) {
        values[step] = value_at(min(flat_index(wid, num, local, step), length - 1u));
    }
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < length) {
            out[i] = values[step];
        }
    }
}
