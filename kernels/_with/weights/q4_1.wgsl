// Weights in Q4_1, w = d * code + m, in the file's blocks of five words: d and m in float16, then 16 bytes of codes.
// Byte j of a block holds weight j in its low nibble and weight j + 16 in its high one.
// The functions are those of quads.wgsl.

@group(0) @binding(0) var<storage, read> weights: array<u32>;
const CHUNK = 32u;

// Four low nibbles. Below 2^23's exponent they are floats that need no conversion.
fn codes4(word: u32) -> vec4<f32> {
    let nibbles = vec4<u32>(word, word >> 8u, word >> 16u, word >> 24u) & vec4<u32>(15u);
    return bitcast<vec4<f32>>(nibbles | vec4<u32>(0x4b000000u)) - 8388608.0;
}

fn dot_chunk(row: u32, chunk: u32, x: array<vec4<f32>, 8>) -> f32 {
    return dot32(row, chunk, x);
}

fn dot32(row: u32, block: u32, x: array<vec4<f32>, 8>) -> f32 {
    let i = (row * (K / 32u) + block) * 5u;
    let dm = unpack2x16float(weights[i]);
    let a = weights[i + 1u];
    let b = weights[i + 2u];
    let c = weights[i + 3u];
    let d = weights[i + 4u];
    var sum = codes4(a) * x[0];
    sum += codes4(b) * x[1];
    sum += codes4(c) * x[2];
    sum += codes4(d) * x[3];
    sum += codes4(a >> 4u) * x[4];
    sum += codes4(b >> 4u) * x[5];
    sum += codes4(c >> 4u) * x[6];
    sum += codes4(d >> 4u) * x[7];
    // The same for every row that a lane takes, so a compiler makes it once.
    let total = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
    return dot(sum * dm.x + total * dm.y, vec4<f32>(1.0));
}

fn unpack32(row: u32, block: u32) -> array<vec4<f32>, 8> {
    let i = (row * (K / 32u) + block) * 5u;
    let dm = unpack2x16float(weights[i]);
    let a = weights[i + 1u];
    let b = weights[i + 2u];
    let c = weights[i + 3u];
    let d = weights[i + 4u];
    return array<vec4<f32>, 8>(
        dm.x * codes4(a) + dm.y,
        dm.x * codes4(b) + dm.y,
        dm.x * codes4(c) + dm.y,
        dm.x * codes4(d) + dm.y,
        dm.x * codes4(a >> 4u) + dm.y,
        dm.x * codes4(b >> 4u) + dm.y,
        dm.x * codes4(c >> 4u) + dm.y,
        dm.x * codes4(d >> 4u) + dm.y,
    );
}

fn octet_quads(octet: u32) -> vec2<u32> {
    let quad = octet / 4u * 8u + octet % 4u;
    return vec2<u32>(quad, quad + 4u);
}

fn dot8(row: u32, octet: u32, a: vec4<f32>, b: vec4<f32>) -> f32 {
    let i = (row * (K / 32u) + octet / 4u) * 5u;
    let dm = unpack2x16float(weights[i]);
    let word = weights[i + 1u + octet % 4u];
    let sum = codes4(word) * a + codes4(word >> 4u) * b;
    return dot(sum * dm.x + (a + b) * dm.y, vec4<f32>(1.0));
}
