// with: weights norm activation
// One thread computes UNITS (1, 2 or 4) gates and their ups of one expert of one token, without a barrier; x is loaded
// once for all of them. Only the rows of that expert are read.
// Reference: webxpu/ops/experts.py, expert_gate_up. weights (N, K) of all experts' gates (F rows each), then all ups; x
// (L, K), gain (K,), expert (L, R), out (L, R, F).

override N: u32;
override K: u32;
override F: u32;
override RANKS: u32;
override KIND: u32;
override UNITS: u32;

@group(0) @binding(3) var<storage, read> expert: array<i32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let group = wid.x + wid.y * num.x;
    let groups = (F + 64u * UNITS - 1u) / (64u * UNITS); // of an expert
    let first = group % groups * (64u * UNITS) + local;
    let pair = group / groups;
    if (first >= F || pair >= arrayLength(&expert)) {
        return;
    }
    let gate = min(vec4<u32>(first) + vec4<u32>(0u, 64u, 128u, 192u), vec4<u32>(F - 1u));
    let chosen = u32(expert[pair]);
    let there = chosen < N / 2u / F; // of an expert that is not, zeros
    let rows = select(0u, chosen, there) * F + gate;
    var gates = vec4<f32>();
    var ups = vec4<f32>();
    var squares = 0.0;
    for (var i = 0u; i < blocks() && there; i++) {
        let block = load_block(pair / RANKS, i);
        squares += block.squares;
        gates.x += dot32(rows.x, i, block.gained);
        ups.x += dot32(rows.x + N / 2u, i, block.gained);
        if (UNITS > 1u) {
            gates.y += dot32(rows.y, i, block.gained);
            ups.y += dot32(rows.y + N / 2u, i, block.gained);
        }
        if (UNITS > 2u) {
            gates.z += dot32(rows.z, i, block.gained);
            ups.z += dot32(rows.z + N / 2u, i, block.gained);
            gates.w += dot32(rows.w, i, block.gained);
            ups.w += dot32(rows.w + N / 2u, i, block.gained);
        }
    }
    let r = root(squares);
    for (var u = 0u; u < UNITS; u++) {
        out[pair * F + gate[u]] = activate(KIND, gates[u] * r, 1.0) * (ups[u] * r);
    }
}
