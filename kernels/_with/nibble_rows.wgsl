// with: nibbles
// Rows of signed 4-bit codes, 32 in a vec4<u32>: K is a multiple of 32, or each row is filled up to one. The part gives
// `code_scale(row, block)`, the scale of 32 codes. The functions are those of quads.wgsl.

@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;
const CHUNK = 32u;

fn row_loads() -> u32 {
    return (K + 31u) / 32u;
}

fn dot_chunk(row: u32, chunk: u32, x: array<vec4<f32>, 8>) -> f32 {
    return dot32(row, chunk, x);
}

fn dot32(row: u32, block: u32, x: array<vec4<f32>, 8>) -> f32 {
    let words = weights[row * row_loads() + block];
    var sum = nibbles4(words.x) * x[0];
    sum += nibbles4(words.x >> 16u) * x[1];
    sum += nibbles4(words.y) * x[2];
    sum += nibbles4(words.y >> 16u) * x[3];
    sum += nibbles4(words.z) * x[4];
    sum += nibbles4(words.z >> 16u) * x[5];
    sum += nibbles4(words.w) * x[6];
    sum += nibbles4(words.w >> 16u) * x[7];
    return code_scale(row, block) * dot(sum, vec4<f32>(1.0));
}

fn unpack32(row: u32, block: u32) -> array<vec4<f32>, 8> {
    let words = weights[row * row_loads() + block];
    let d = code_scale(row, block);
    return array<vec4<f32>, 8>(
        d * nibbles4(words.x),
        d * nibbles4(words.x >> 16u),
        d * nibbles4(words.y),
        d * nibbles4(words.y >> 16u),
        d * nibbles4(words.z),
        d * nibbles4(words.z >> 16u),
        d * nibbles4(words.w),
        d * nibbles4(words.w >> 16u),
    );
}

fn octet_quads(octet: u32) -> vec2<u32> {
    return vec2<u32>(2u * octet, 2u * octet + 1u);
}

fn dot8(row: u32, octet: u32, a: vec4<f32>, b: vec4<f32>) -> f32 {
    let word = weights[row * row_loads() + octet / 4u][octet % 4u];
    return code_scale(row, octet / 4u) * dot(nibbles4(word) * a + nibbles4(word >> 16u) * b, vec4<f32>(1.0));
}
