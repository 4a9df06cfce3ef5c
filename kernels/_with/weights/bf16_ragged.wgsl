// with: ragged
// Weights in bfloat16, two in a word, row after row, any K.

@group(0) @binding(0) var<storage, read> weights: array<u32>;

fn weight_value(i: u32) -> f32 {
    return bitcast<f32>((weights[i / 2u] >> (16u * (i % 2u))) << 16u);
}
