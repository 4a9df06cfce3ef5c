// with: flat
// A workgroup changes 1,024 elements of y.
// Reference: webxpu/ops/axpy.py `axpy_inplace`. x and y: the same length.

override A: f32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&y)) {
            y[i] = fma(A, x[i], y[i]);
        }
    }
}
