// The hidden values of one expert of one token, what their sums are worth, and where they belong.
// Reference: webxpu/ops/experts.py, expert_down. weights (N, K) of all experts, OUT rows each; hidden (L, R, K), K a
// multiple of 4; expert and gate (L, R), residual (L, OUT), out (L, OUT).

override N: u32;
override K: u32;
override OUT: u32;
override RANKS: u32;

@group(0) @binding(1) var<storage, read> hidden: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> expert: array<i32>;
@group(0) @binding(3) var<storage, read> gate: array<f32>;
@group(0) @binding(4) var<storage, read> residual: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

fn blocks() -> u32 {
    return (K + 31u) / 32u;
}

fn quad_at(pair: u32, quad: u32) -> vec4<f32> {
    return select(vec4<f32>(), hidden[pair * (K / 4u) + min(quad, K / 4u - 1u)], quad < K / 4u);
}

// 32 hidden values of a pair of token and rank; 0 past K.
fn load_block(pair: u32, block: u32) -> array<vec4<f32>, 8> {
    let q = block * 8u;
    return array<vec4<f32>, 8>(
        quad_at(pair, q),
        quad_at(pair, q + 1u),
        quad_at(pair, q + 2u),
        quad_at(pair, q + 3u),
        quad_at(pair, q + 4u),
        quad_at(pair, q + 5u),
        quad_at(pair, q + 6u),
        quad_at(pair, q + 7u),
    );
}

// The first weight row of the pair's expert, or N where there is no such expert.
fn first_row(pair: u32) -> u32 {
    let chosen = u32(expert[pair]);
    return select(N, chosen * OUT, chosen < N / OUT);
}
