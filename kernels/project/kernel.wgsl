// with: weights x_quads block before
// One thread computes UNITS (1, 2 or 4) rows and adds the residual, without a barrier; x is loaded once for all of them.
// Reference: webxpu/ops/project.py. weights (N, K), x (1, K), residual (1, N), out (1, N). K is a multiple of 4.

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
    let row = (wid.x + wid.y * num.x) * (64u * UNITS) + local;
    if (row >= N) {
        return;
    }
    let rows = min(vec4<u32>(row) + vec4<u32>(0u, 64u, 128u, 192u), vec4<u32>(N - 1u));
    var sums = vec4<f32>();
    for (var i = 0u; i < blocks(); i++) {
        let block = load_block(i);
        sums.x += dot32(rows.x, i, block);
        if (UNITS > 1u) {
            sums.y += dot32(rows.y, i, block);
        }
        if (UNITS > 2u) {
            sums.z += dot32(rows.z, i, block);
            sums.w += dot32(rows.w, i, block);
        }
    }
    for (var u = 0u; u < UNITS; u++) {
        out[rows[u]] = before(rows[u]) + sums[u];
    }
}
