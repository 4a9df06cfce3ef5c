// with: flat order
// A thread takes one expert of one token: how many logits go before it is its rank. Of equals the lowest index goes first.
// Reference: webxpu/ops/moe.py. logits (T, E), expert (T, K), gate (T, K).

override E: u32;
override K: u32;

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read_write> expert: array<i32>;
@group(0) @binding(2) var<storage, read_write> gate: array<f32>;

fn key(logit: f32) -> u32 {
    return order_bits(select(logit, 0.0, logit == 0.0)); // -0 equals 0
}

fn route(token: u32, e: u32) {
    let logit = logits[token * E + e];
    let own = key(logit);
    var rank = 0u;
    var highest = own;
    for (var other = 0u; other < E; other++) {
        let found = key(logits[token * E + other]);
        rank += select(0u, 1u, found > own || (found == own && other < e));
        highest = max(highest, found);
    }
    if (rank >= K) {
        return;
    }
    let largest = from_order(highest);
    var sum = 0.0;
    for (var other = 0u; other < E; other++) {
        sum += exp(logits[token * E + other] - largest);
    }
    expert[token * K + rank] = i32(e);
    gate[token * K + rank] = exp(logit - largest) / sum;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let width = max(E, K);
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        let token = i / width;
        let e = i % width;
        if (token < arrayLength(&gate) / K) {
            if (e < E) {
                route(token, e);
            } else { // a rank for which there is no expert
                expert[token * K + e] = -1;
                gate[token * K + e] = 0.0;
            }
        }
    }
}
