// with: weights norm few_rows
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
    let place = row_of(wid.x + wid.y * num.x, arrayLength(&x) / (K / 4u));
    let column = place.y * (64u * UNITS) + local;
    if (column >= N) {
        return;
    }
    let columns = min(vec4<u32>(column) + vec4<u32>(0u, 64u, 128u, 192u), vec4<u32>(N - 1u));
    var sums = vec4<f32>();
    var squares = 0.0;
    for (var i = 0u; i < blocks(); i++) {
        let block = load_block(place.x, i);
        squares += block.squares;
        sums.x += dot32(columns.x, i, block.gained);
        if (UNITS > 1u) {
            sums.y += dot32(columns.y, i, block.gained);
        }
        if (UNITS > 2u) {
            sums.z += dot32(columns.z, i, block.gained);
            sums.w += dot32(columns.w, i, block.gained);
        }
    }
    let r = root(squares);
    for (var u = 0u; u < UNITS; u++) {
        out[place.x * N + columns[u]] = sums[u] * r;
    }
}
