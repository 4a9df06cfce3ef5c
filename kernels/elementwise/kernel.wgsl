// with: flat
// A workgroup computes 1,024 elements.
// Reference: webxpu/ops/elementwise.py. a, b and out: the same length.

override KIND: u32; // 0 add, 1 multiply

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
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
            out[i] = select(a[i] + b[i], a[i] * b[i], KIND == 1u);
        }
    }
}
