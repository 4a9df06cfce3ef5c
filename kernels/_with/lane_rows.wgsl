// with: lanes
// Weight rows (N, K) times x (K,): LANES neighbouring lanes compute ROWS rows. Adjacent lanes take adjacent chunks of a
// row, x is loaded once for the rows, the sums meet by shuffles. No barrier. The kernel declares x, `quad_at` of
// x_quads.wgsl or x_values.wgsl, and `store(row, sum)`.

override N: u32;
override K: u32;
override ROWS: u32;

fn x_chunk(chunk: u32) -> array<vec4<f32>, 8> {
    let first = chunk * (CHUNK / 4u);
    var result: array<vec4<f32>, 8>;
    result[0] = quad_at(first);
    if (CHUNK > 4u) {
        result[1] = quad_at(first + 1u);
    }
    if (CHUNK > 8u) {
        result[2] = quad_at(first + 2u);
        result[3] = quad_at(first + 3u);
    }
    if (CHUNK > 16u) {
        result[4] = quad_at(first + 4u);
        result[5] = quad_at(first + 5u);
        result[6] = quad_at(first + 6u);
        result[7] = quad_at(first + 7u);
    }
    return result;
}

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_size) size: u32,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    let lanes = min(LANES, size);
    let row = slot_of(wid.x + wid.y * num.x, subgroup, subgroups, size, lane) * ROWS;
    var sum = vec4<f32>();
    for (var chunk = lane % lanes; chunk < (K + CHUNK - 1u) / CHUNK; chunk += lanes) {
        let v = x_chunk(chunk);
        sum.x += dot_chunk(min(row, N - 1u), chunk, v);
        if (ROWS > 1u) {
            sum.y += dot_chunk(min(row + 1u, N - 1u), chunk, v);
        }
        if (ROWS > 2u) {
            sum.z += dot_chunk(min(row + 2u, N - 1u), chunk, v);
            sum.w += dot_chunk(min(row + 3u, N - 1u), chunk, v);
        }
    }
    sum = over_lanes(sum, lanes);
    // Lane i of the group writes row i, so that the writes are side by side. (Without the guards a lane past the end would
    // write the last row's sum again: no test can tell.)
    let i = lane % lanes;
    if (lanes >= ROWS) {
        if (i < ROWS && row + i < N) {
            store(row + i, sum[i]);
        }
    } else if (i == 0u) {
        for (var r = 0u; r < ROWS && row + r < N; r++) {
            store(row + r, sum[r]);
        }
    }
}
