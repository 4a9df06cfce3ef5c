// with: staged
// The row that a normed layer starts from, in workgroup memory: x (L, K) in binding 1 and the norm's weight (K,) in binding
// 2. The norm's root is the same for the whole row, so it multiplies the layer's sums when they are done.

override EPS: f32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> gain: array<vec4<f32>>;

// Of each subgroup's share.
var<workgroup> squares_of: array<f32, 64>;

// Stages a row times the gain; what the layer's sums are multiplied by.
fn stage_normed(row: u32, subgroup: u32, subgroups: u32, lane: u32, lanes: u32) -> f32 {
    var squares = 0.0;
    for (var quad = subgroup * lanes + lane; quad < K / 4u; quad += THREADS) {
        let value = x[row * (K / 4u) + quad];
        put_quad(quad, value * gain[quad]);
        squares += dot(value, value);
    }
    let share = subgroupAdd(squares);
    if (lane == 0u) {
        squares_of[subgroup] = share;
    }
    workgroupBarrier();
    var total = 0.0;
    for (var i = 0u; i < subgroups; i++) {
        total += squares_of[i];
    }
    return inverseSqrt(total / f32(K) + EPS);
}
