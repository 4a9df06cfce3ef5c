// Rows of 16-bit floats, eight in a vec4<u32>, K a multiple of 8. The part gives `half_pair(word)`, the two values of a
// word. The functions are those of quads.wgsl.

@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;
const CHUNK = 8u;

fn words8(row: u32, octet: u32) -> vec4<u32> {
    if (K % 32u == 0u) {
        return weights[row * (K / 8u) + octet];
    }
    return select(vec4<u32>(), weights[row * (K / 8u) + min(octet, K / 8u - 1u)], vec4<bool>(octet < K / 8u));
}

fn low4(words: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(half_pair(words.x), half_pair(words.y));
}

fn high4(words: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(half_pair(words.z), half_pair(words.w));
}

fn dot_chunk(row: u32, chunk: u32, x: array<vec4<f32>, 8>) -> f32 {
    let words = weights[row * (K / 8u) + chunk];
    return dot(low4(words), x[0]) + dot(high4(words), x[1]);
}

fn dot32(row: u32, block: u32, x: array<vec4<f32>, 8>) -> f32 {
    let a = words8(row, block * 4u);
    let b = words8(row, block * 4u + 1u);
    let c = words8(row, block * 4u + 2u);
    let d = words8(row, block * 4u + 3u);
    var sum = low4(a) * x[0];
    sum += high4(a) * x[1];
    sum += low4(b) * x[2];
    sum += high4(b) * x[3];
    sum += low4(c) * x[4];
    sum += high4(c) * x[5];
    sum += low4(d) * x[6];
    sum += high4(d) * x[7];
    return dot(sum, vec4<f32>(1.0));
}

fn unpack32(row: u32, block: u32) -> array<vec4<f32>, 8> {
    let a = words8(row, block * 4u);
    let b = words8(row, block * 4u + 1u);
    let c = words8(row, block * 4u + 2u);
    let d = words8(row, block * 4u + 3u);
    return array<vec4<f32>, 8>(low4(a), high4(a), low4(b), high4(b), low4(c), high4(c), low4(d), high4(d));
}

fn octet_quads(octet: u32) -> vec2<u32> {
    return vec2<u32>(2u * octet, 2u * octet + 1u);
}

fn dot8(row: u32, octet: u32, a: vec4<f32>, b: vec4<f32>) -> f32 {
    let words = words8(row, octet);
    return dot(low4(words), a) + dot(high4(words), b);
}
