// with: weights norm
// One thread computes UNITS (1, 2 or 4) outputs of one row, without a barrier; x is loaded once for all of them.
// Reference: webxpu/ops/norm_linear.py. weights (N, K), x (L, K), gain (K,), out (L, N).

override N: u32;
override K: u32;
override UNITS: u32;

@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let group = wid.x + wid.y * num.x;
    let groups = (N + 64u * UNITS - 1u) / (64u * UNITS); // of a row
    let row = group % groups * (64u * UNITS) + local;
    let line = group / groups;
    if (row >= N || line >= arrayLength(&out) / N) {
        return;
    }
    let rows = min(vec4<u32>(row) + vec4<u32>(0u, 64u, 128u, 192u), vec4<u32>(N - 1u));
    var sums = vec4<f32>();
    var squares = 0.0;
    for (var i = 0u; i < blocks(); i++) {
        let block = load_block(line, i);
        squares += block.squares;
        sums.x += dot32(rows.x, i, block.gained);
        if (UNITS > 1u) {
            sums.y += dot32(rows.y, i, block.gained);
        }
        if (UNITS > 2u) {
            sums.z += dot32(rows.z, i, block.gained);
            sums.w += dot32(rows.w, i, block.gained);
        }
    }
    let r = root(squares);
    for (var u = 0u; u < UNITS; u++) {
        out[line * N + rows[u]] = sums[u] * r;
    }
}
