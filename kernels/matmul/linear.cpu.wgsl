// with: weights
// A thread computes two features for 16 rows: the rows share the unpacked weights, the features share what is read of
// x. There is no tile in workgroup memory: on a CPU it is no faster than the cache, a barrier is dear, and the code that
// clears it makes a pipeline take a second to compile.
// Reference: webxpu/ops/matmul.py `linear`. weights (N, K), x (L, K), out (L, N); L comes from the length of out.

override N: u32;
override K: u32;

const ROWS = 16u;

@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

fn x_at(row: u32, column: u32) -> f32 {
    if (K % 32u == 0u) {
        return x[row * K + column];
    }
    return select(0.0, x[row * K + min(column, K - 1u)], column < K);
}

fn x_quad(row: u32, column: u32) -> vec4<f32> {
    return vec4<f32>(x_at(row, column), x_at(row, column + 1u), x_at(row, column + 2u), x_at(row, column + 3u));
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = arrayLength(&out) / N;
    let tile = wid.x + wid.y * num.x;
    let across = (N + 127u) / 128u;
    let first_row = tile / across * ROWS;
    let feature = tile % across * 128u + local;
    if (feature >= N || first_row >= rows) {
        return;
    }
    let other = min(feature + 64u, N - 1u);
    let count = min(ROWS, rows - first_row);
    var sums: array<vec2<f32>, ROWS>;
    for (var block = 0u; block < (K + 31u) / 32u; block++) {
        let w0 = unpack32(feature, block);
        let w1 = unpack32(other, block);
        for (var r = 0u; r < count; r++) {
            let row = first_row + r;
            var sum0 = vec4<f32>();
            var sum1 = vec4<f32>();
            let x0 = x_quad(row, block * 32u);
            sum0 += w0[0] * x0;
            sum1 += w1[0] * x0;
            let x1 = x_quad(row, block * 32u + 4u);
            sum0 += w0[1] * x1;
            sum1 += w1[1] * x1;
            let x2 = x_quad(row, block * 32u + 8u);
            sum0 += w0[2] * x2;
            sum1 += w1[2] * x2;
            let x3 = x_quad(row, block * 32u + 12u);
            sum0 += w0[3] * x3;
            sum1 += w1[3] * x3;
            let x4 = x_quad(row, block * 32u + 16u);
            sum0 += w0[4] * x4;
            sum1 += w1[4] * x4;
            let x5 = x_quad(row, block * 32u + 20u);
            sum0 += w0[5] * x5;
            sum1 += w1[5] * x5;
            let x6 = x_quad(row, block * 32u + 24u);
            sum0 += w0[6] * x6;
            sum1 += w1[6] * x6;
            let x7 = x_quad(row, block * 32u + 28u);
            sum0 += w0[7] * x7;
            sum1 += w1[7] * x7;
            sums[r] += vec2<f32>(dot(sum0, vec4<f32>(1.0)), dot(sum1, vec4<f32>(1.0)));
        }
    }
    for (var r = 0u; r < count; r++) {
        out[(first_row + r) * N + feature] = sums[r].x;
        if (feature + 64u < N) {
            out[(first_row + r) * N + feature + 64u] = sums[r].y;
        }
    }
}
