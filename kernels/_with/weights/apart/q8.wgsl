// with: byte_rows
// Our own 8-bit weights, w = scale * code, K a multiple of 16: codes (N, K) and apart from them scales (N,).
// Layout: webxpu/quant/q8.py.

@group(0) @binding(3) var<storage, read> scales: array<f32>;

fn code_scale(row: u32, block: u32) -> f32 {
    return scales[row];
}
