// with: bytes activation
// Two weights in our own 8-bit format, K a multiple of 16, and what their two sums make. Layout: webxpu/quant/q8.py.
// Reference: webxpu/ops/matvec.py `matvec_q8_ffn`. gate and up (N, K), their scales (N,), x (K,), out (N,).

override N: u32;
override K: u32;
override KIND: u32;

@group(0) @binding(0) var<storage, read> gate: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> gate_scales: array<f32>;
@group(0) @binding(2) var<storage, read> up: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> up_scales: array<f32>;
@group(0) @binding(4) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

// Sixteen columns of both, before their scales.
fn gate_up(row: u32, chunk: u32) -> vec2<f32> {
    let at = row * (K / 16u) + chunk;
    let quad = chunk * 4u;
    let x0 = x[quad];
    let x1 = x[quad + 1u];
    let x2 = x[quad + 2u];
    let x3 = x[quad + 3u];
    let sums = mat2x4<f32>(dot16(gate[at], x0, x1, x2, x3), dot16(up[at], x0, x1, x2, x3));
    return vec4<f32>(1.0) * sums;
}

fn store(row: u32, sums: vec2<f32>) {
    out[row] = activate(KIND, sums.x * gate_scales[row], 1.0) * (sums.y * up_scales[row]);
}
