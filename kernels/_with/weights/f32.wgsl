// with: quads
// Weights in float32, row after row, K a multiple of 4. See webxpu/quant/ggml.py `weight_part` for which part is taken.

@group(0) @binding(0) var<storage, read> weights: array<vec4<f32>>;

fn weight_quad(row: u32, quad: u32) -> vec4<f32> {
    if (K % 32u == 0u) {
        return weights[row * (K / 4u) + quad];
    }
    return select(vec4<f32>(), weights[row * (K / 4u) + min(quad, K / 4u - 1u)], quad < K / 4u);
}
