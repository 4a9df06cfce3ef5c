// with: weights x_rows joined before
enable subgroups;
requires subgroup_id;
// attend.subgroups.wgsl for a few rows, each with its sums in the same order. A workgroup joins the parts of AT_ONCE rows at
// a time into workgroup memory; each of its subgroups computes one column of all of them.
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

const THREADS = 256u;
var<workgroup> x: array<vec4<f32>, AT_ONCE * K / 4u>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
) {
    let column = min((wid.x + wid.y * num.x) * subgroups + subgroup, N - 1u);
    let early = unpack32(column, min(lane, blocks() - 1u));
    for (var first = 0u; first < ROWS; first += AT_ONCE) {
        let count = min(AT_ONCE, ROWS - first);
        for (var quad = subgroup * lanes + lane; quad < count * (K / 4u); quad += THREADS) {
            x[quad] = joined(first * (K / 4u) + quad);
        }
        workgroupBarrier();
        // Initialised, since without a value a variable of a loop's body is not zero each time on SwiftShader.
        var sums = array<f32, 9>();
        if (lane < blocks()) {
            for (var row = 0u; row < count; row++) {
                let block = load_block(row, lane);
                var products = early[0] * block[0];
                products += early[1] * block[1];
                products += early[2] * block[2];
                products += early[3] * block[3];
                products += early[4] * block[4];
                products += early[5] * block[5];
                products += early[6] * block[6];
                products += early[7] * block[7];
                sums[row] = dot(products, vec4<f32>(1.0));
            }
        }
        for (var block = lane + lanes; block < blocks(); block += lanes) {
            for (var row = 0u; row < count; row++) {
                sums[row] += dot32(column, block, load_block(row, block));
            }
        }
        for (var row = 0u; row < count; row++) {
            let total = subgroupAdd(sums[row]);
            if (lane == 0u) {
                let at = (first + row) * N + column;
                out[at] = before(at) + total;
            }
        }
        workgroupBarrier();
    }
}
