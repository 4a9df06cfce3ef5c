// with: weights
// One thread computes one row and adds the residual, without a barrier: it multiplies each head's parts by the weights
// first and joins them then. D is a multiple of 32.
// Reference: webxpu/ops/project.py, attend_project. weights (N, K) with K = H * D, acc (1, H, PARTS, D), stats
// (1, H, PARTS) of max and sum, residual (1, N), out (1, N).

override N: u32;
override K: u32;
override D: u32;
override PARTS: u32;

@group(0) @binding(1) var<storage, read> acc: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> stats: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> residual: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

fn part_dot(row: u32, head: u32, part: u32) -> f32 {
    var sum = 0.0;
    for (var block = 0u; block < D / 32u; block++) {
        let a = ((head * PARTS + part) * (D / 32u) + block) * 8u;
        sum += dot32(row, head * (D / 32u) + block, array<vec4<f32>, 8>(
            acc[a],
            acc[a + 1u],
            acc[a + 2u],
            acc[a + 3u],
            acc[a + 4u],
            acc[a + 5u],
            acc[a + 6u],
            acc[a + 7u],
        ));
    }
    return sum;
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = (wid.x + wid.y * num.x) * 64u + local;
    if (row >= N) {
        return;
    }
    var total = residual[row];
    for (var head = 0u; head < K / D; head++) {
        var largest = stats[head * PARTS].x;
        for (var part = 1u; part < PARTS; part++) {
            largest = max(largest, stats[head * PARTS + part].x);
        }
        var sum = 0.0;
        var weight = 0.0;
        for (var part = 0u; part < PARTS; part++) {
            let stat = stats[head * PARTS + part];
            let share = exp(stat.x - largest);
            weight += share * stat.y;
            sum += share * part_dot(row, head, part);
        }
        total += select(sum / weight, 0.0, weight == 0.0);
    }
    out[row] = total;
}
