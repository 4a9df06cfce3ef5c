// with: flat_map
// A workgroup computes 1,024 outputs: the sums of the shares of a product.
// Reference: webxpu/ops/matmul.py `linear`. x (shares, L, N), out (L, N).

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

alias Value = f32;

fn value_at(i: u32) -> Value {
    var sum = 0.0;
    for (var at = i; at < arrayLength(&x); at += arrayLength(&out)) {
        sum += x[at];
    }
    return sum;
}
