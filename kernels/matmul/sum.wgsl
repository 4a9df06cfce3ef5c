// with: flat_map
// A workgroup computes 1,024 outputs: the sums of SPLIT shares of a product.
// Reference: webxpu/ops/matmul.py `linear`. x (SPLIT, L, N), out (L, N).

override SPLIT: u32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

alias Value = f32;

fn value_at(i: u32) -> Value {
    var sum = 0.0;
    for (var share = 0u; share < SPLIT; share++) {
        sum += x[share * arrayLength(&out) + i];
    }
    return sum;
}
