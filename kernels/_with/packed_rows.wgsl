// Rows of small codes in blocks, K a multiple of 32. The functions are those of quads.wgsl; the part gives, for 32 weights
// of which `i` is the number in all rows and `half` says the first or the last 16:
//   codes16(i, half)   the codes plus BIAS, as bytes in order
//   scales16(i, half)  scale and minimum of those weights, w = scale * code - minimum; without MINIMA the latter is 0
//   GROUP              16, or 32 where both halves have one scale

const CHUNK = 32u;

// A byte below 2^23's exponent is a float that needs no conversion.
fn codes4(word: u32) -> vec4<f32> {
    let bytes = vec4<u32>(word, word >> 8u, word >> 16u, word >> 24u) & vec4<u32>(255u);
    return bitcast<vec4<f32>>(bytes | vec4<u32>(0x4b000000u)) - (8388608.0 + BIAS);
}

fn dot16(words: vec4<u32>, x0: vec4<f32>, x1: vec4<f32>, x2: vec4<f32>, x3: vec4<f32>) -> vec4<f32> {
    return codes4(words.x) * x0 + codes4(words.y) * x1 + codes4(words.z) * x2 + codes4(words.w) * x3;
}

fn dot_chunk(row: u32, chunk: u32, x: array<vec4<f32>, 8>) -> f32 {
    return dot32(row, chunk, x);
}

fn dot32(row: u32, block: u32, x: array<vec4<f32>, 8>) -> f32 {
    let i = row * (K / 32u) + block;
    var a = dot16(codes16(i, 0u), x[0], x[1], x[2], x[3]);
    var b = dot16(codes16(i, 1u), x[4], x[5], x[6], x[7]);
    let first = scales16(i, 0u);
    var second = first;
    if (GROUP == 16u) {
        second = scales16(i, 1u);
    }
    a = a * first.x + b * second.x;
    if (MINIMA) {
        // The sums of x are the same for every row that a lane takes, so a compiler makes them once.
        a -= ((x[0] + x[1]) + (x[2] + x[3])) * first.y + ((x[4] + x[5]) + (x[6] + x[7])) * second.y;
    }
    return dot(a, vec4<f32>(1.0));
}

fn unpack32(row: u32, block: u32) -> array<vec4<f32>, 8> {
    let i = row * (K / 32u) + block;
    let a = codes16(i, 0u);
    let b = codes16(i, 1u);
    let first = scales16(i, 0u);
    var second = first;
    if (GROUP == 16u) {
        second = scales16(i, 1u);
    }
    return array<vec4<f32>, 8>(
        weights4(a.x, first),
        weights4(a.y, first),
        weights4(a.z, first),
        weights4(a.w, first),
        weights4(b.x, second),
        weights4(b.y, second),
        weights4(b.z, second),
        weights4(b.w, second),
    );
}

fn weights4(word: u32, scales: vec2<f32>) -> vec4<f32> {
    let scaled = scales.x * codes4(word);
    if (MINIMA) {
        return scaled - scales.y;
    }
    return scaled;
}

fn octet_quads(octet: u32) -> vec2<u32> {
    return vec2<u32>(2u * octet, 2u * octet + 1u);
}

fn dot8(row: u32, octet: u32, a: vec4<f32>, b: vec4<f32>) -> f32 {
    let i = row * (K / 32u) + octet / 4u;
    let half = octet / 2u % 2u;
    let words = codes16(i, half);
    let pair = select(words.xy, words.zw, octet % 2u == 1u);
    let scales = scales16(i, half);
    var sum = (codes4(pair.x) * a + codes4(pair.y) * b) * scales.x;
    if (MINIMA) {
        sum -= (a + b) * scales.y;
    }
    return dot(sum, vec4<f32>(1.0));
}
