// with: weights x_rows before
// kernel.wgsl for a few rows of x, each with its sums in the same order: one thread computes UNITS (1, 2 or 4) columns of
// all of them.
// Reference: webxpu/ops/project.py. weights (N, K), x (ROWS, K), residual (ROWS, N), out (ROWS, N). K is a multiple of 4.

override N: u32;
override K: u32;
override UNITS: u32;
override ROWS: u32; // at most 9

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> residual: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = (wid.x + wid.y * num.x) * (64u * UNITS) + local;
    if (first >= N) {
        return;
    }
    let columns = min(vec4<u32>(first) + vec4<u32>(0u, 64u, 128u, 192u), vec4<u32>(N - 1u));
    var sums: array<vec4<f32>, 9>;
    for (var i = 0u; i < blocks(); i++) {
        for (var row = 0u; row < ROWS; row++) {
            let block = load_block(row, i);
            sums[row].x += dot32(columns.x, i, block);
            if (UNITS > 1u) {
                sums[row].y += dot32(columns.y, i, block);
            }
            if (UNITS > 2u) {
                sums[row].z += dot32(columns.z, i, block);
                sums[row].w += dot32(columns.w, i, block);
            }
        }
    }
    for (var row = 0u; row < ROWS; row++) {
        for (var u = 0u; u < UNITS; u++) {
            let at = row * N + columns[u];
            out[at] = before(at) + sums[row][u];
        }
    }
}
