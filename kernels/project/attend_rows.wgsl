// with: weights x_rows joined before
// attend.wgsl for a few rows, each with its sums in the same order. A workgroup joins the parts of AT_ONCE rows at a time
// into workgroup memory; each of its 64 threads computes one column of all of them.
// Reference: webxpu/ops/project.py, attend_project. weights (N, K) with K = H * D, acc (ROWS, H, PARTS, D), stats
// (ROWS, H, PARTS) of max and sum, residual (ROWS, N), out (ROWS, N).

override N: u32;
override K: u32;
override D: u32;
override PARTS: u32;
override ROWS: u32; // at most 9
override AT_ONCE: u32;

@group(0) @binding(1) var<storage, read> acc: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> stats: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> residual: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

var<workgroup> x: array<vec4<f32>, AT_ONCE * K / 4u>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    // Threads past the end repeat the last column.
    let column = min((wid.x + wid.y * num.x) * 64u + local, N - 1u);
    for (var first = 0u; first < ROWS; first += AT_ONCE) {
        let count = min(AT_ONCE, ROWS - first);
        for (var quad = local; quad < count * (K / 4u); quad += 64u) {
            x[quad] = joined(first * (K / 4u) + quad);
        }
        workgroupBarrier();
        // Initialised, since without a value a variable of a loop's body is not zero each time on SwiftShader.
        var sums = array<f32, 9>();
        for (var block = 0u; block < blocks(); block++) {
            for (var row = 0u; row < count; row++) {
                sums[row] += dot32(column, block, load_block(row, block));
            }
        }
        for (var row = 0u; row < count; row++) {
            let at = (first + row) * N + column;
            out[at] = before(at) + sums[row];
        }
        workgroupBarrier();
    }
}
