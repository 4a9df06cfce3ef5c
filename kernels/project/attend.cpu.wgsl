// with: weights few_rows before
// One thread computes four columns of a row and adds the residual, without a barrier: it multiplies each head's parts by the weights
// first and joins them then. D is a multiple of 32.
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

// Four columns against one part of one head of a row; the loads of the part serve all four.
fn part_dots(columns: vec4<u32>, row: u32, head: u32, part: u32) -> vec4<f32> {
    var sums = vec4<f32>();
    for (var block = 0u; block < D / 32u; block++) {
        let a = (((row * (K / D) + head) * PARTS + part) * (D / 32u) + block) * 8u;
        let x = array<vec4<f32>, 8>(
            acc[a],
            acc[a + 1u],
            acc[a + 2u],
            acc[a + 3u],
            acc[a + 4u],
            acc[a + 5u],
            acc[a + 6u],
            acc[a + 7u],
        );
        let b = head * (D / 32u) + block;
        sums += vec4<f32>(dot32(columns.x, b, x), dot32(columns.y, b, x), dot32(columns.z, b, x), dot32(columns.w, b, x));
    }
    return sums;
}

@compute @workgroup_size(16)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = row_of(wid.x + wid.y * num.x, arrayLength(&acc) / (K / 4u * PARTS));
    let column = (place.y * 16u + local) * 4u;
    if (column >= N) {
        return;
    }
    let columns = min(vec4<u32>(column) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(N - 1u));
    var total = vec4<f32>();
    for (var head = 0u; head < K / D; head++) {
        let first = (place.x * (K / D) + head) * PARTS;
        var largest = stats[first].x;
        for (var part = 1u; part < PARTS; part++) {
            largest = max(largest, stats[first + part].x);
        }
        var sums = vec4<f32>();
        var weight = 0.0;
        for (var part = 0u; part < PARTS; part++) {
            let stat = stats[first + part];
            let share = exp(stat.x - largest);
            weight += share * stat.y;
            sums += share * part_dots(columns, place.x, head, part);
        }
        total += select(sums / weight, vec4<f32>(), weight == 0.0);
    }
    for (var i = 0u; i < 4u; i++) {
        let at = place.x * N + columns[i];
        out[at] = before(at) + total[i];
    }
}
