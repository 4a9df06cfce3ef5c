// with: weights norm activation
enable subgroups;
requires subgroup_id;
// A subgroup computes one gate and its up of one expert of one token. Only the rows of that expert are read.
// Reference: webxpu/ops/experts.py, expert_gate_up. weights (N, K) of all experts' gates (F rows each), then all ups; x
// (L, K), gain (K,), expert (L, R), out (L, R, F).

override N: u32;
override K: u32;
override F: u32;
override RANKS: u32;
override KIND: u32;

@group(0) @binding(3) var<storage, read> expert: array<i32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

fn gate_up(line: u32, row: u32, i: u32) -> vec3<f32> {
    let octet = load_octet(line, i);
    let at = min(i, octets() - 1u);
    return vec3<f32>(dot8(row, at, octet.a, octet.b), dot8(row + N / 2u, at, octet.a, octet.b), octet.squares);
}

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
) {
    let at = min((wid.x + wid.y * num.x) * subgroups + subgroup, arrayLength(&out) - 1u);
    let pair = at / F;
    let chosen = u32(expert[pair]);
    let there = chosen < N / 2u / F; // of an expert that is not, zeros
    let row = select(0u, chosen, there) * F + at % F;
    var sums = vec3<f32>(); // gate, up and the squares
    for (var first = lane; first < octets(); first += 3u * lanes) {
        // Three at a time, so that all their loads are under way at once.
        let line = pair / RANKS;
        sums += (gate_up(line, row, first) + gate_up(line, row, first + lanes)) + gate_up(line, row, first + 2u * lanes);
    }
    let total = subgroupAdd(sums);
    if (lane == 0u) {
        let r = root(total.z);
        out[at] = select(0.0, activate(KIND, total.x * r, 1.0) * (total.y * r), there);
    }
}
