// with: flat
// A workgroup copies 1,024 values of a product of some features to their columns of the whole product.
// Reference: webxpu/ops/matmul.py `linear`. x (L, COUNT), out (L, N): the columns from FIRST on.

override N: u32;
override COUNT: u32;
override FIRST: u32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&x)) {
            out[i / COUNT * N + FIRST + i % COUNT] = x[i];
        }
    }
}
