// with: weights norm few_rows activation
// One thread computes UNITS (1, 2 or 4) gates and their ups of a row of x, without a barrier, which is
// loaded once for all of them.
// Reference: webxpu/ops/norm_gate_up.py. weights (2 F, K), x (L, K), gain (K,), out (L, F).

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
    let place = row_of(wid.x + wid.y * num.x, arrayLength(&x) / (K / 4u));
    let column = place.y * (64u * UNITS) + local;
    if (column >= N / 2u) {
        return;
    }
    let columns = min(vec4<u32>(column) + vec4<u32>(0u, 64u, 128u, 192u), vec4<u32>(N / 2u - 1u));
    var gates = vec4<f32>();
    var ups = vec4<f32>();
    var squares = 0.0;
    for (var i = 0u; i < blocks(); i++) {
        let block = load_block(place.x, i);
        squares += block.squares;
        gates.x += dot32(columns.x, i, block.gained);
        ups.x += dot32(columns.x + N / 2u, i, block.gained);
        if (UNITS > 1u) {
            gates.y += dot32(columns.y, i, block.gained);
            ups.y += dot32(columns.y + N / 2u, i, block.gained);
        }
        if (UNITS > 2u) {
            gates.z += dot32(columns.z, i, block.gained);
            ups.z += dot32(columns.z + N / 2u, i, block.gained);
            gates.w += dot32(columns.w, i, block.gained);
            ups.w += dot32(columns.w + N / 2u, i, block.gained);
        }
    }
    let r = root(squares);
    for (var u = 0u; u < UNITS; u++) {
        out[place.x * (N / 2u) + columns[u]] = activate(KIND, gates[u] * r, 1.0) * (ups[u] * r);
    }
}
