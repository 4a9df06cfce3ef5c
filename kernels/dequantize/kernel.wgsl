// with: flat_map
// A workgroup computes 1,024 elements.
// Reference: webxpu/ops/dequantize.py. x and out: the same length.

override SCALE: f32;

@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

alias Value = f32;

fn value_at(i: u32) -> Value {
    return f32(x[i]) * SCALE;
}
