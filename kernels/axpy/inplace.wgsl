// with: flat_map
// A workgroup changes 1,024 elements of y.
// Reference: webxpu/ops/axpy.py `axpy_inplace`. x and out, which is y: the same length.

override A: f32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

alias Value = f32;

fn value_at(i: u32) -> Value {
    return fma(A, x[i], out[i]);
}
