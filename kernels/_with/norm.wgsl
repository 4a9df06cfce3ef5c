// The row that a normed layer starts from: x (L, K) in binding 1 and the norm's weight (K,) in binding 2, K a multiple
// of 4. The norm's root is the same for the whole row, so it multiplies the layer's sums when they are done.

override EPS: f32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> gain: array<vec4<f32>>;

fn blocks() -> u32 {
    return (K + 31u) / 32u;
}

struct Block {
    gained: array<vec4<f32>, 8>,
    squares: f32,
}

fn quad_at(row: u32, quad: u32) -> vec4<f32> {
    if (K % 32u == 0u) {
        return x[row * (K / 4u) + quad];
    }
    return select(vec4<f32>(), x[row * (K / 4u) + min(quad, K / 4u - 1u)], quad < K / 4u);
}

fn gain_at(quad: u32) -> vec4<f32> {
    return gain[min(quad, K / 4u - 1u)];
}

// 32 values of row `row` times the gain, and the sum of the values' squares; 0 past K.
fn load_block(row: u32, block: u32) -> Block {
    let q = block * 8u;
    let a = quad_at(row, q);
    let b = quad_at(row, q + 1u);
    let c = quad_at(row, q + 2u);
    let d = quad_at(row, q + 3u);
    let e = quad_at(row, q + 4u);
    let f = quad_at(row, q + 5u);
    let g = quad_at(row, q + 6u);
    let h = quad_at(row, q + 7u);
    let squares = a * a + b * b + c * c + d * d + e * e + f * f + g * g + h * h;
    return Block(
        array<vec4<f32>, 8>(
            a * gain_at(q),
            b * gain_at(q + 1u),
            c * gain_at(q + 2u),
            d * gain_at(q + 3u),
            e * gain_at(q + 4u),
            f * gain_at(q + 5u),
            g * gain_at(q + 6u),
            h * gain_at(q + 7u),
        ),
        dot(squares, vec4<f32>(1.0)),
    );
}

// Eight values of row `row` times the gain, as `dot8` takes them, and the sum of the values' squares; 0 past K.
struct Octet {
    a: vec4<f32>,
    b: vec4<f32>,
    squares: f32,
}

fn octets() -> u32 {
    return (K + 7u) / 8u;
}

fn load_octet(row: u32, octet: u32) -> Octet {
    let at = octet_quads(min(octet, octets() - 1u));
    let a = select(vec4<f32>(), quad_at(row, at.x), octet < octets());
    let b = select(vec4<f32>(), quad_at(row, at.y), octet < octets());
    return Octet(a * gain_at(at.x), b * gain_at(at.y), dot(a, a) + dot(b, b));
}

// What the layer's sums are multiplied by.
fn root(squares: f32) -> f32 {
    return inverseSqrt(squares / f32(K) + EPS);
}
