// with: state kv_write paged
// One thread makes STORED neighbours of one head of a row's q, k or v: adds the bias, norms the head, turns it, stores it.
// Reference: webxpu/ops/norm_qkv.py. qkv (L, (H + 2 G) * D), table (P, D / 2, 2), cache (pages, 2, 64, G, D), pages (n,),
// bias ((H + 2 G) * D,), q_gain and k_gain (D,), q (L, H, D). STORED divides D.

override HEADS: u32;
override KV_HEADS: u32;
override D: u32;
override HALF: u32; // 1: a pair lies D / 2 apart, 0: side by side
override TURNED: u32; // heads that turn, of q, k and v side by side
override BIASED: u32; // 1: bias is added
override NORM: u32; // 1: heads of q and k are normed
override EPS: f32;

@group(0) @binding(0) var<storage, read> qkv: array<f32>;
@group(0) @binding(1) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> cache: array<KvStored>;
@group(0) @binding(3) var<storage, read> pages: array<i32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read> q_gain: array<f32>;
@group(0) @binding(6) var<storage, read> k_gain: array<f32>;
@group(0) @binding(7) var<storage, read_write> q: array<f32>;
@group(0) @binding(8) var<uniform> state: State;

fn biased(row: u32, head: u32, i: u32) -> f32 {
    let value = qkv[(row * (HEADS + 2u * KV_HEADS) + head) * D + i];
    if (BIASED == 1u) {
        return value + bias[head * D + i];
    }
    return value;
}

// What a head's values are multiplied by, besides the gain.
fn root_of(row: u32, head: u32) -> f32 {
    var squares = 0.0;
    for (var i = 0u; i < D; i++) {
        let value = biased(row, head, i);
        squares += value * value;
    }
    return inverseSqrt(squares / f32(D) + EPS);
}

fn normed(row: u32, head: u32, i: u32, root: f32) -> f32 {
    let value = biased(row, head, i);
    if (NORM == 0u || head >= HEADS + KV_HEADS) {
        return value;
    }
    if (head < HEADS) {
        return value * root * q_gain[i];
    }
    return value * root * k_gain[i];
}

fn turned(row: u32, head: u32, i: u32, root: f32) -> f32 {
    let value = normed(row, head, i, root);
    if (head >= TURNED) {
        return value;
    }
    let half = D / 2u;
    let is_first = select(i % 2u == 0u, i < half, HALF == 1u);
    let partner = select(i ^ 1u, (i + half) % D, HALF == 1u);
    let turns = min(state.position + row, arrayLength(&table) / half - 1u) * half;
    let turn = table[turns + select(i / 2u, i % half, HALF == 1u)];
    let other = normed(row, head, partner, root);
    return value * turn.x + select(other, -other, is_first) * turn.y;
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = ((wid.x + wid.y * num.x) * 64u + local) * STORED;
    if (first >= arrayLength(&qkv)) {
        return;
    }
    let heads = HEADS + 2u * KV_HEADS;
    let row = first / D / heads;
    let head = first / D % heads;
    var root = 1.0;
    if (NORM == 1u && head < HEADS + KV_HEADS) {
        root = root_of(row, head);
    }
    var values: array<f32, STORED>;
    for (var n = 0u; n < STORED; n++) {
        values[n] = turned(row, head, first % D + n, root);
    }
    if (head < HEADS) {
        for (var n = 0u; n < STORED; n++) {
            q[(row * HEADS + head) * D + first % D + n] = values[n];
        }
    } else if (is_live(row)) {
        let is_value = head >= HEADS + KV_HEADS;
        let g = head - HEADS - select(0u, KV_HEADS, is_value);
        let place = key_row(state.position + row) + select(0u, VALUE_ROWS, is_value);
        kv_store(place * KV_HEADS + g, first % D, values);
    }
}
