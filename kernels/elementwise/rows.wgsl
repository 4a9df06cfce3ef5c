// with: flat_map
// A workgroup computes 1,024 elements; element i of a row meets element i of b.
// Reference: webxpu/ops/elementwise.py `elementwise_rows`. a (S, D), b (D,), out (S, D).

override KIND: u32; // 0 add, 1 multiply
override D: u32;

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

alias Value = f32;

fn value_at(i: u32) -> Value {
    return select(a[i] + b[i % D], a[i] * b[i % D], KIND == 1u);
}
