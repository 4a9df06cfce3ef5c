// with: nibble_rows
// Our own 4-bit weights, w = scale * code, K a multiple of 32: codes (N, K) and apart from them scales (N, ceil(K / 128)).
// Layout: webxpu/quant/q4g128.py.

@group(0) @binding(3) var<storage, read> scales: array<f32>;

fn code_scale(row: u32, block: u32) -> f32 {
    return scales[row * ((K + 127u) / 128u) + block / 4u];
}
