// with: flat_map
// A workgroup computes 1,024 elements.
// Reference: webxpu/ops/elementwise.py. a, b and out: the same length.

override KIND: u32; // 0 add, 1 multiply

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

alias Value = f32;

fn value_at(i: u32) -> Value {
    return select(a[i] + b[i], a[i] * b[i], KIND == 1u);
}
