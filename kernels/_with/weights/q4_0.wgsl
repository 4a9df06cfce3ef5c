// Weights in Q4_0, w = d * (code - 8), as planes: 16 bytes of codes a block, all blocks; then one float16 scale d a
// block. Byte j of a block holds weight j in its low nibble and weight j + 16 in its high one.
// The functions are those of quads.wgsl.

@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;
const CHUNK = 32u;

fn block_scale(block: u32) -> f32 {
    let word = weights[N * (K / 32u) + block / 8u][(block / 2u) % 4u];
    return unpack2x16float(word >> (16u * (block % 2u))).x;
}

// Four low nibbles less 8. Below 2^23's exponent they are floats that need no conversion.
fn codes4(word: u32) -> vec4<f32> {
    let nibbles = vec4<u32>(word, word >> 8u, word >> 16u, word >> 24u) & vec4<u32>(15u);
    return bitcast<vec4<f32>>(nibbles | vec4<u32>(0x4b000000u)) - 8388616.0;
}

fn dot_chunk(row: u32, chunk: u32, x: array<vec4<f32>, 8>) -> f32 {
    return dot32(row, chunk, x);
}

fn dot32(row: u32, block: u32, x: array<vec4<f32>, 8>) -> f32 {
    let i = row * (K / 32u) + block;
    let words = weights[i];
    var sum = codes4(words.x) * x[0];
    sum += codes4(words.y) * x[1];
    sum += codes4(words.z) * x[2];
    sum += codes4(words.w) * x[3];
    sum += codes4(words.x >> 4u) * x[4];
    sum += codes4(words.y >> 4u) * x[5];
    sum += codes4(words.z >> 4u) * x[6];
    sum += codes4(words.w >> 4u) * x[7];
    return block_scale(i) * dot(sum, vec4<f32>(1.0));
}

fn unpack32(row: u32, block: u32) -> array<vec4<f32>, 8> {
    let i = row * (K / 32u) + block;
    let words = weights[i];
    let d = block_scale(i);
    return array<vec4<f32>, 8>(
        d * codes4(words.x),
        d * codes4(words.y),
        d * codes4(words.z),
        d * codes4(words.w),
        d * codes4(words.x >> 4u),
        d * codes4(words.y >> 4u),
        d * codes4(words.z >> 4u),
        d * codes4(words.w >> 4u),
    );
}

fn octet_quads(octet: u32) -> vec2<u32> {
    let quad = octet / 4u * 8u + octet % 4u;
    return vec2<u32>(quad, quad + 4u);
}

fn dot8(row: u32, octet: u32, a: vec4<f32>, b: vec4<f32>) -> f32 {
    let block = row * (K / 32u) + octet / 4u;
    let word = weights[block][octet % 4u];
    return block_scale(block) * dot(codes4(word) * a + codes4(word >> 4u) * b, vec4<f32>(1.0));
}
