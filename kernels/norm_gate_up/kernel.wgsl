// with: weights norm activation
// One thread computes UNITS (1, 2 or 4) gates and their ups of a single token, without a barrier; x is loaded once for
// all of them.
// Reference: webxpu/ops/norm_gate_up.py. weights (2 F, K), x (1, K), gain (K,), out (1, F).

override N: u32;
override K: u32;
override KIND: u32;
override UNITS: u32;

@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = (wid.x + wid.y * num.x) * (64u * UNITS) + local;
    if (row >= N / 2u) {
        return;
    }
    let rows = min(vec4<u32>(row) + vec4<u32>(0u, 64u, 128u, 192u), vec4<u32>(N / 2u - 1u));
    var gates = vec4<f32>();
    var ups = vec4<f32>();
    var squares = 0.0;
    for (var i = 0u; i < blocks(); i++) {
        let block = load_block(0u, i);
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
        out[rows[u]] = activate(KIND, gates[u] * r, 1.0) * (ups[u] * r);
    }
}
