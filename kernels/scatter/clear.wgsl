// with: flat
// A workgroup clears 1,024 sums.
// Reference: webxpu/ops/scatter.py. out: any length.

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&out)) {
            out[i] = 0u;
        }
    }
}
