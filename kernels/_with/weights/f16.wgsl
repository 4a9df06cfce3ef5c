// with: halves
// Weights in float16, K a multiple of 8.

fn half_pair(word: u32) -> vec2<f32> {
    return unpack2x16float(word);
}
