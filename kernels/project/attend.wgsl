// with: weights x_quads block joined few_rows before
// A workgroup joins a row's parts of attention into workgroup memory, then each of its 64 threads computes one column and
// adds the residual.
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

var<workgroup> x: array<vec4<f32>, K / 4u>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = row_of(wid.x + wid.y * num.x, arrayLength(&acc) / (K / 4u * PARTS));
    for (var quad = local; quad < K / 4u; quad += 64u) {
        x[quad] = joined(place.x * (K / 4u) + quad);
    }
    workgroupBarrier();
    let column = place.y * 64u + local;
    if (column >= N) {
        return;
    }
    var sum = 0.0;
    for (var block = 0u; block < blocks(); block++) {
        sum += dot32(column, block, load_block(block));
    }
    let at = place.x * N + column;
    out[at] = before(at) + sum;
}
