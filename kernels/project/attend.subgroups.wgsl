// with: weights x_quads block joined few_rows before
enable subgroups;
requires subgroup_id;
// A workgroup joins a row's parts of attention into workgroup memory, then each of its subgroups computes one column and
// adds the residual. A lane's first weights are asked for before the join, so that both are under way at once.
// Reference: webxpu/ops/project.py, attend_project. weights (N, K) with K = H * D, acc (L, H, PARTS, D), stats
// (L, H, PARTS) of max and sum, residual (L, N), out (L, N).

override N: u32;
override K: u32;
override D: u32;
override PARTS: u32;

@group(0) @binding(1) var<storage, read> acc: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> stats: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> residual: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

const THREADS = 256u;
var<workgroup> x: array<vec4<f32>, K / 4u>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
) {
    let place = row_of(wid.x + wid.y * num.x, arrayLength(&acc) / (K / 4u * PARTS));
    let row = place.x;
    let column = min(place.y * subgroups + subgroup, N - 1u);
    let start = before(row * N + column);
    let early = unpack32(column, min(lane, blocks() - 1u));
    for (var quad = subgroup * lanes + lane; quad < K / 4u; quad += THREADS) {
        x[quad] = joined(row * (K / 4u) + quad);
    }
    workgroupBarrier();
    var sum = 0.0;
    if (lane < blocks()) {
        let block = load_block(lane);
        var products = early[0] * block[0];
        products += early[1] * block[1];
        products += early[2] * block[2];
        products += early[3] * block[3];
        products += early[4] * block[4];
        products += early[5] * block[5];
        products += early[6] * block[6];
        products += early[7] * block[7];
        sum = dot(products, vec4<f32>(1.0));
    }
    for (var block = lane + lanes; block < blocks(); block += lanes) {
        sum += dot32(column, block, load_block(block));
    }
    let total = subgroupAdd(sum);
    if (lane == 0u) {
        out[row * N + column] = start + total;
    }
}
