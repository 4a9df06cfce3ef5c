// with: byte_rows
// Weights in Q8_0, w = d * code, as planes: 32 int8 codes a block, all blocks; then one float16 scale d a block.

fn code_scale(row: u32, block: u32) -> f32 {
    let i = row * (K / 32u) + block;
    let word = weights[N * (K / 16u) + i / 8u][(i / 2u) % 4u];
    return unpack2x16float(word >> (16u * (i % 2u))).x;
}
