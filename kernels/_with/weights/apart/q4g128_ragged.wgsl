// with: quads nibbles
// Our own 4-bit weights, any K: each row in words of its own, and apart from them scales (N, ceil(K / 128)). Past K a quad
// is whatever the words hold there, and so is one past the row: it meets an x of 0. The scale is the row's still, as 32
// columns of which one is below K are of one group.
// Layout: webxpu/quant/q4g128.py.

@group(0) @binding(0) var<storage, read> weights: array<u32>;
@group(0) @binding(3) var<storage, read> scales: array<f32>;

fn weight_quad(row: u32, quad: u32) -> vec4<f32> {
    let word = weights[row * ((K + 7u) / 8u) + quad / 2u];
    return scales[row * ((K + 127u) / 128u) + quad / 32u] * nibbles4(word >> (16u * (quad % 2u)));
}
