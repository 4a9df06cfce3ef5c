// with: quads bytes
// Our own 8-bit weights, any K: each row in words of its own, and apart from them scales (N,). Past K a quad is whatever
// the words hold there, and so is one past the row: it meets an x of 0.
// Layout: webxpu/quant/q8.py.

@group(0) @binding(0) var<storage, read> weights: array<u32>;
@group(0) @binding(3) var<storage, read> scales: array<f32>;

fn weight_quad(row: u32, quad: u32) -> vec4<f32> {
    return scales[row] * codes4(weights[row * ((K + 3u) / 4u) + quad]);
}
