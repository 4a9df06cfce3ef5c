// with: weights norm activation
// kernel.wgsl for a few tokens, each with its sums in the same order: one thread computes UNITS (1, 2 or 4) gates and
// their ups of all of them.
// Reference: webxpu/ops/norm_gate_up.py. weights (2 F, K), x (ROWS, K), gain (K,), out (ROWS, F).

override N: u32;
override K: u32;
override KIND: u32;
override UNITS: u32;
override ROWS: u32; // at most 9

@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = (wid.x + wid.y * num.x) * (64u * UNITS) + local;
    if (first >= N / 2u) {
        return;
    }
    let columns = min(vec4<u32>(first) + vec4<u32>(0u, 64u, 128u, 192u), vec4<u32>(N / 2u - 1u));
    var gates: array<vec4<f32>, 9>;
    var ups: array<vec4<f32>, 9>;
    var squares: array<f32, 9>;
    for (var i = 0u; i < blocks(); i++) {
        for (var row = 0u; row < ROWS; row++) {
            let block = load_block(row, i);
            squares[row] += block.squares;
            gates[row].x += dot32(columns.x, i, block.gained);
            ups[row].x += dot32(columns.x + N / 2u, i, block.gained);
            if (UNITS > 1u) {
                gates[row].y += dot32(columns.y, i, block.gained);
                ups[row].y += dot32(columns.y + N / 2u, i, block.gained);
            }
            if (UNITS > 2u) {
                gates[row].z += dot32(columns.z, i, block.gained);
                ups[row].z += dot32(columns.z + N / 2u, i, block.gained);
                gates[row].w += dot32(columns.w, i, block.gained);
                ups[row].w += dot32(columns.w + N / 2u, i, block.gained);
            }
        }
    }
    for (var row = 0u; row < ROWS; row++) {
        let r = root(squares[row]);
        for (var u = 0u; u < UNITS; u++) {
            out[row * (N / 2u) + columns[u]] = activate(KIND, gates[row][u] * r, 1.0) * (ups[row][u] * r);
        }
    }
}
