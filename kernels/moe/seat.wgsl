// with: moe_pairs
// A thread finds the seat of one pair, and marks one seat that stays empty.
// Reference: webxpu/ops/moe.py. expert (T, K), before (blocks + 1, E), pos (T, K), tokens (E, C): who sits there, or -1.

@group(0) @binding(0) var<storage, read> expert: array<i32>;
@group(0) @binding(1) var<storage, read> before: array<u32>;
@group(0) @binding(2) var<storage, read_write> pos: array<i32>;
@group(0) @binding(3) var<storage, read_write> tokens: array<i32>;

fn seat_pair(pair: u32, capacity: u32) {
    let place = place_of(pair);
    let e = u32(expert[place]); // a negative one wraps past every expert
    pos[place] = -1;
    if (e >= E) {
        return;
    }
    var seat = before[pair / BLOCK * E + e];
    for (var other = pair / BLOCK * BLOCK; other < pair; other++) {
        seat += select(0u, 1u, u32(expert[place_of(other)]) == e);
    }
    if (seat < capacity) {
        pos[place] = i32(seat);
        tokens[e * capacity + seat] = i32(token_of(pair));
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (wid.x + wid.y * num.x) * 256u + local;
    let capacity = arrayLength(&tokens) / E;
    let blocks = arrayLength(&before) / E - 1u;
    if (i < arrayLength(&pos) && blocks != 0u) { // without a block there is no pair: an empty pos is bound with some bytes
        seat_pair(i, capacity);
    }
    if (i < arrayLength(&tokens) && i % capacity >= before[blocks * E + i / capacity]) {
        tokens[i] = -1;
    }
}
