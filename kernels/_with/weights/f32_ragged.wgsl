// Weights in float32, row after row, any K.
// Reads one weight at a time and never past its row. The functions are those of f32.wgsl; chunk < ceil(K / CHUNK).

@group(0) @binding(0) var<storage, read> weights: array<f32>;
const CHUNK = 4u;

fn weight_at(row: u32, column: u32) -> f32 {
    let i = row * K + min(column, K - 1u);
    let w = weights[i];
    return select(0.0, w, column < K);
}

fn weight_quad(row: u32, quad: u32) -> vec4<f32> {
    let c = quad * 4u;
    return vec4<f32>(weight_at(row, c), weight_at(row, c + 1u), weight_at(row, c + 2u), weight_at(row, c + 3u));
}

fn dot_chunk(row: u32, chunk: u32, x: array<vec4<f32>, 8>) -> f32 {
    return dot(weight_quad(row, chunk), x[0]);
}

fn dot32(row: u32, block: u32, x: array<vec4<f32>, 8>) -> f32 {
    let first = block * 8u;
    var sum = weight_quad(row, first) * x[0];
    sum += weight_quad(row, first + 1u) * x[1];
    sum += weight_quad(row, first + 2u) * x[2];
    sum += weight_quad(row, first + 3u) * x[3];
    sum += weight_quad(row, first + 4u) * x[4];
    sum += weight_quad(row, first + 5u) * x[5];
    sum += weight_quad(row, first + 6u) * x[6];
    sum += weight_quad(row, first + 7u) * x[7];
    return dot(sum, vec4<f32>(1.0));
}

fn unpack32(row: u32, block: u32) -> array<vec4<f32>, 8> {
    let first = block * 8u;
    return array<vec4<f32>, 8>(
        weight_quad(row, first),
        weight_quad(row, first + 1u),
        weight_quad(row, first + 2u),
        weight_quad(row, first + 3u),
        weight_quad(row, first + 4u),
        weight_quad(row, first + 5u),
        weight_quad(row, first + 6u),
        weight_quad(row, first + 7u),
    );
}

fn octet_quads(octet: u32) -> vec2<u32> {
    return vec2<u32>(2u * octet, 2u * octet + 1u);
}

fn dot8(row: u32, octet: u32, a: vec4<f32>, b: vec4<f32>) -> f32 {
    return dot(weight_quad(row, 2u * octet), a) + dot(weight_quad(row, 2u * octet + 1u), b);
}
