// with: flat
// A workgroup copies 1,024 elements of the picked rows.
// Reference: webxpu/ops/gather.py. table (R, D): the whole or the part from row FIRST on;
// indices (N,), out (N, D).

override R: u32;
override D: u32;
override FIRST: u32;

@group(0) @binding(0) var<storage, read> table: array<f32>;
@group(0) @binding(1) var<storage, read> indices: array<i32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&out)) {
            let row = u32(indices[i / D]) - FIRST; // an index that is negative or before FIRST wraps past every table
            if (row < R) {
                out[i] = table[row * D + i % D];
            } else if (FIRST == 0u) {
                out[i] = 0.0;
            }
        }
    }
}
