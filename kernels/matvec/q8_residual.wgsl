// with: weights/apart/q8 x_quads thread_rows
// Rows of whole 16-byte loads, a thread each; their results are added to a residual.
// Reference: webxpu/ops/matvec.py `matvec_q8_residual`. codes (N, K), x (K,), out (N,), scales (N,), residual (N,).

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read> residual: array<f32>;

fn store(row: u32, sum: f32) {
    out[row] = residual[row] + sum;
}
