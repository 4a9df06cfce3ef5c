// with: weights x_rows few_rows before
// One thread computes UNITS (1, 2 or 4) columns of a row and adds the residual, without a barrier; x is loaded once for
// all of them.
// Reference: webxpu/ops/project.py. weights (N, K), x (L, K), residual (L, N), out (L, N). K is a multiple of 4.

override N: u32;
override K: u32;
override UNITS: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> residual: array<f32>;
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
    for (var i = 0u; i < blocks(); i++) {
        let block = load_block(place.x, i);
        sums.x += dot32(columns.x, i, block);
        if (UNITS > 1u) {
            sums.y += dot32(columns.y, i, block);
        }
        if (UNITS > 2u) {
            sums.z += dot32(columns.z, i, block);
            sums.w += dot32(columns.w, i, block);
        }
    }
    for (var u = 0u; u < UNITS; u++) {
        let at = place.x * N + columns[u];
        out[at] = before(at) + sums[u];
    }
}
