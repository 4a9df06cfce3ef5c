// with: ragged
// Weights in float32, row after row, any K.

@group(0) @binding(0) var<storage, read> weights: array<f32>;

fn weight_value(i: u32) -> f32 {
    return weights[i];
}
