// with: packed_quads spread
// Weights in Q1_0, w = +d or -d, as planes: 16 bytes of signs a block of 128 weights, all blocks; then one float16 scale d a
// block. Bit j of a block is set where weight j is +d.

const BIAS = 1.0;
const MINIMA = false;
const GROUP = 32u;

fn codes16(i: u32, half: u32) -> vec4<u32> {
    return spread16(weights[i / 4u][i % 4u] >> (16u * half)) << vec4<u32>(1u);
}

fn scales16(i: u32, half: u32) -> vec2<f32> {
    return vec2<f32>(plane_scale(i / 4u, N * (K / 128u)), 0.0);
}
