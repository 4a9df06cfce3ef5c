// with: ragged
// Weights in float16, two in a word, row after row, any K.

@group(0) @binding(0) var<storage, read> weights: array<u32>;

fn weight_value(i: u32) -> f32 {
    let pair = unpack2x16float(weights[i / 2u]);
    return select(pair.x, pair.y, i % 2u == 1u);
}
