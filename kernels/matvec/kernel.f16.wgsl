// with: weights real_f16 x_quads thread_rows
// Rows of whole 16-byte loads, a thread each.
// Reference: webxpu/ops/matvec.py. weights (N, K), x (K,), out (N,).

@group(0) @binding(1) var<storage, read> x: array<vec4<Real>>;
@group(0) @binding(2) var<storage, read_write> out: array<Real>;

fn store(row: u32, sum: f32) {
    out[row] = Real(sum);
}
