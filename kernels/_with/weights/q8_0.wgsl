// Weights in Q8_0, w = d * code, as planes: 32 int8 codes a block, all blocks; then one float16 scale d a block.
// The functions are those of quads.wgsl.

@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;
const CHUNK = 16u;

fn block_scale(block: u32) -> f32 {
    let word = weights[N * (K / 16u) + block / 8u][(block / 2u) % 4u];
    return unpack2x16float(word >> (16u * (block % 2u))).x;
}

// Four codes. Biased by 128 they are bytes, and a byte below 2^23's exponent is a float that needs no conversion, which
// is four times slower than and, or and subtract on NVIDIA.
fn codes4(word: u32) -> vec4<f32> {
    let biased = word ^ 0x80808080u;
    let bytes = vec4<u32>(biased, biased >> 8u, biased >> 16u, biased >> 24u) & vec4<u32>(255u);
    return bitcast<vec4<f32>>(bytes | vec4<u32>(0x4b000000u)) - 8388736.0;
}

fn dot16(words: vec4<u32>, x0: vec4<f32>, x1: vec4<f32>, x2: vec4<f32>, x3: vec4<f32>) -> vec4<f32> {
    return codes4(words.x) * x0 + codes4(words.y) * x1 + codes4(words.z) * x2 + codes4(words.w) * x3;
}

fn dot_chunk(row: u32, chunk: u32, x: array<vec4<f32>, 8>) -> f32 {
    let i = row * (K / 16u) + chunk;
    return block_scale(i / 2u) * dot(dot16(weights[i], x[0], x[1], x[2], x[3]), vec4<f32>(1.0));
}

fn dot32(row: u32, block: u32, x: array<vec4<f32>, 8>) -> f32 {
    let i = row * (K / 32u) + block;
    let sum = dot16(weights[2u * i], x[0], x[1], x[2], x[3]) + dot16(weights[2u * i + 1u], x[4], x[5], x[6], x[7]);
    return block_scale(i) * dot(sum, vec4<f32>(1.0));
}

fn unpack32(row: u32, block: u32) -> array<vec4<f32>, 8> {
    let i = row * (K / 32u) + block;
    let d = block_scale(i);
    let a = weights[2u * i];
    let b = weights[2u * i + 1u];
    return array<vec4<f32>, 8>(
        d * codes4(a.x),
        d * codes4(a.y),
        d * codes4(a.z),
        d * codes4(a.w),
        d * codes4(b.x),
        d * codes4(b.y),
        d * codes4(b.z),
        d * codes4(b.w),
    );
}

fn octet_quads(octet: u32) -> vec2<u32> {
    return vec2<u32>(2u * octet, 2u * octet + 1u);
}

fn dot8(row: u32, octet: u32, a: vec4<f32>, b: vec4<f32>) -> f32 {
    let block = row * (K / 32u) + octet / 4u;
    let words = weights[2u * block + octet % 4u / 2u];
    let pair = select(words.xy, words.zw, octet % 2u == 1u);
    return block_scale(block) * dot(codes4(pair.x) * a + codes4(pair.y) * b, vec4<f32>(1.0));
}
