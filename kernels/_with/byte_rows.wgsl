// with: bytes
// Rows of int8 codes, sixteen in a vec4<u32>: K is a multiple of 16, or each row is filled up to one. The part gives
// `code_scale(row, block)`, the scale of 32 codes. Where half a block lies past K, codes of the row after it are read,
// which meet an x of 0.
// The functions are those of quads.wgsl.

@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;
const CHUNK = 16u;

fn row_loads() -> u32 {
    return (K + 15u) / 16u;
}

fn dot_chunk(row: u32, chunk: u32, x: array<vec4<f32>, 8>) -> f32 {
    let words = weights[row * row_loads() + chunk];
    return code_scale(row, chunk / 2u) * dot(dot16(words, x[0], x[1], x[2], x[3]), vec4<f32>(1.0));
}

fn dot32(row: u32, block: u32, x: array<vec4<f32>, 8>) -> f32 {
    let i = row * row_loads() + 2u * block;
    let sum = dot16(weights[i], x[0], x[1], x[2], x[3]) + dot16(weights[i + 1u], x[4], x[5], x[6], x[7]);
    return code_scale(row, block) * dot(sum, vec4<f32>(1.0));
}

fn unpack32(row: u32, block: u32) -> array<vec4<f32>, 8> {
    let i = row * row_loads() + 2u * block;
    let d = code_scale(row, block);
    let a = weights[i];
    let b = weights[i + 1u];
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
    let words = weights[row * row_loads() + octet / 2u];
    let pair = select(words.xy, words.zw, octet % 2u == 1u);
    return code_scale(row, octet / 4u) * dot(codes4(pair.x) * a + codes4(pair.y) * b, vec4<f32>(1.0));
}
