// with: weights
// LANES neighbouring lanes of a subgroup (all of it where it is smaller) compute ROWS rows: adjacent lanes take adjacent
// chunks of a row, x is loaded once for the rows, the sums meet by shuffles. No barrier.
// Reference: webxpu/ops/matvec.py. weights (N, K), x (K,), out (N,).
enable subgroups;
requires subgroup_id;

override N: u32;
override K: u32;
override LANES: u32;
override ROWS: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

fn x_chunk(chunk: u32) -> array<vec4<f32>, 8> {
    let first = chunk * (CHUNK / 4u);
    var result: array<vec4<f32>, 8>;
    result[0] = x[first];
    if (CHUNK > 4u) {
        result[1] = x[first + 1u];
    }
    if (CHUNK > 8u) {
        result[2] = x[first + 2u];
        result[3] = x[first + 3u];
    }
    if (CHUNK > 16u) {
        result[4] = x[first + 4u];
        result[5] = x[first + 5u];
        result[6] = x[first + 6u];
        result[7] = x[first + 7u];
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
    let slot = ((wid.x + wid.y * num.x) * subgroups + subgroup) * (size / lanes) + lane / lanes;
    let row = slot * ROWS;
    var sum = vec4<f32>();
    for (var chunk = lane % lanes; chunk < K / CHUNK; chunk += lanes) {
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
    for (var mask = lanes / 2u; mask > 0u; mask /= 2u) {
        sum += subgroupShuffleXor(sum, mask);
    }
    // Lane i of the group writes row i, so that the writes are side by side. (Without the guards a lane past the end would
    // write the last row's sum again: no test can tell.)
    let i = lane % lanes;
    if (lanes >= ROWS) {
        if (i < ROWS && row + i < N) {
            out[row + i] = sum[i];
        }
    } else if (i == 0u) {
        for (var r = 0u; r < ROWS && row + r < N; r++) {
            out[row + r] = sum[r];
        }
    }
}
