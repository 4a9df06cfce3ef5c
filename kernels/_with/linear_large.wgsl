// A workgroup of 256 threads computes a tile of 128 x 128 outputs, 8 x 8 a thread, from tiles of 16 columns of x and of
// the weight; the next are loaded while these are used. Half of the threads load the weight, a block of 32 of one row
// each, the other half loads x. A thread writes whole vec4s of a tile: two that wrote parts of one would race. The
// quads of a row are swapped about (`place`) so that eight rows' lie in different banks.
// weights (N, K), x (L, K), out (L, N), K a multiple of 4; L comes from the length of out.

override N: u32;
override K: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<Real>>;
@group(0) @binding(2) var<storage, read_write> out: array<Real>;

var<workgroup> x_tile: array<vec4<f32>, 512>; // 128 rows of 4 quads of columns
var<workgroup> w_tile: array<vec4<f32>, 512>;

fn place(row: u32, quad: u32) -> u32 {
    return row * 4u + (quad ^ (row / 2u % 4u));
}

fn x_quad(row: u32, k: u32) -> vec4<f32> {
    return select(vec4<f32>(), vec4<f32>(x[row * (K / 4u) + min(k, K - 4u) / 4u]), k < K);
}

// Features `feature`, + 16, + 32 and so on of one row.
fn store(row: u32, feature: u32, low: vec4<f32>, high: vec4<f32>) {
    if (row >= arrayLength(&out) / N) {
        return;
    }
    for (var j = 0u; j < 4u; j++) {
        if (feature + 16u * j < N) {
            out[row * N + feature + 16u * j] = Real(low[j]);
        }
        if (feature + 64u + 16u * j < N) {
            out[row * N + feature + 64u + 16u * j] = Real(high[j]);
        }
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = arrayLength(&out) / N;
    let tile = wid.x + wid.y * num.x;
    let across = (N + 127u) / 128u;
    let first_row = tile / across * 128u;
    let first_feature = tile % across * 128u;
    let ty = local / 16u;
    let tx = local % 16u; // features tx, tx + 16 and so on to tx + 112 are this thread's

    // What this thread loads: a block of a weight row, or four quads of x, 32 rows apart. Rows and features past the end
    // repeat the last one: their results are not stored.
    let loads_weight = local < 128u;
    let feature = min(first_feature + local % 128u, N - 1u);
    let x_column = local % 4u * 4u;
    let x_row = local % 128u / 4u;
    let x_row0 = min(first_row + x_row, rows - 1u);
    let x_row1 = min(first_row + x_row + 32u, rows - 1u);
    let x_row2 = min(first_row + x_row + 64u, rows - 1u);
    let x_row3 = min(first_row + x_row + 96u, rows - 1u);

    var next: array<vec4<f32>, 8>;
    if (loads_weight) {
        next = unpack32(feature, 0u);
    } else {
        next[0] = x_quad(x_row0, x_column);
        next[1] = x_quad(x_row1, x_column);
        next[2] = x_quad(x_row2, x_column);
        next[3] = x_quad(x_row3, x_column);
    }
    var c00 = vec4<f32>();
    var c01 = vec4<f32>();
    var c10 = vec4<f32>();
    var c11 = vec4<f32>();
    var c20 = vec4<f32>();
    var c21 = vec4<f32>();
    var c30 = vec4<f32>();
    var c31 = vec4<f32>();
    var c40 = vec4<f32>();
    var c41 = vec4<f32>();
    var c50 = vec4<f32>();
    var c51 = vec4<f32>();
    var c60 = vec4<f32>();
    var c61 = vec4<f32>();
    var c70 = vec4<f32>();
    var c71 = vec4<f32>();
    for (var base = 0u; base < K; base += 16u) {
        workgroupBarrier(); // the tiles before have been used
        if (loads_weight) {
            w_tile[place(local, 0u)] = next[0];
            w_tile[place(local, 1u)] = next[1];
            w_tile[place(local, 2u)] = next[2];
            w_tile[place(local, 3u)] = next[3];
            if (base % 32u == 0u) { // the other half of the block
                next[0] = next[4];
                next[1] = next[5];
                next[2] = next[6];
                next[3] = next[7];
            } else {
                next = unpack32(feature, min(base / 32u + 1u, (K - 1u) / 32u));
            }
        } else {
            x_tile[place(x_row, local % 4u)] = next[0];
            x_tile[place(x_row + 32u, local % 4u)] = next[1];
            x_tile[place(x_row + 64u, local % 4u)] = next[2];
            x_tile[place(x_row + 96u, local % 4u)] = next[3];
            let k_next = base + 16u + x_column;
            next[0] = x_quad(x_row0, k_next);
            next[1] = x_quad(x_row1, k_next);
            next[2] = x_quad(x_row2, k_next);
            next[3] = x_quad(x_row3, k_next);
        }
        workgroupBarrier();
        for (var q = 0u; q < 4u; q++) {
            // Four features a column k, so that a product is added at once: a row times a matrix would add one time more.
            let low = transpose(mat4x4<f32>(
                w_tile[place(tx, q)],
                w_tile[place(tx + 16u, q)],
                w_tile[place(tx + 32u, q)],
                w_tile[place(tx + 48u, q)],
            ));
            let high = transpose(mat4x4<f32>(
                w_tile[place(tx + 64u, q)],
                w_tile[place(tx + 80u, q)],
                w_tile[place(tx + 96u, q)],
                w_tile[place(tx + 112u, q)],
            ));
            let x0 = x_tile[place(ty * 4u, q)];
            let x1 = x_tile[place(ty * 4u + 1u, q)];
            let x2 = x_tile[place(ty * 4u + 2u, q)];
            let x3 = x_tile[place(ty * 4u + 3u, q)];
            let x4 = x_tile[place(ty * 4u + 64u, q)];
            let x5 = x_tile[place(ty * 4u + 65u, q)];
            let x6 = x_tile[place(ty * 4u + 66u, q)];
            let x7 = x_tile[place(ty * 4u + 67u, q)];
            for (var k = 0u; k < 4u; k++) {
                c00 += x0[k] * low[k];
                c01 += x0[k] * high[k];
                c10 += x1[k] * low[k];
                c11 += x1[k] * high[k];
                c20 += x2[k] * low[k];
                c21 += x2[k] * high[k];
                c30 += x3[k] * low[k];
                c31 += x3[k] * high[k];
                c40 += x4[k] * low[k];
                c41 += x4[k] * high[k];
                c50 += x5[k] * low[k];
                c51 += x5[k] * high[k];
                c60 += x6[k] * low[k];
                c61 += x6[k] * high[k];
                c70 += x7[k] * low[k];
                c71 += x7[k] * high[k];
            }
        }
    }
    store(first_row + ty * 4u + 0u, first_feature + tx, c00, c01);
    store(first_row + ty * 4u + 1u, first_feature + tx, c10, c11);
    store(first_row + ty * 4u + 2u, first_feature + tx, c20, c21);
    store(first_row + ty * 4u + 3u, first_feature + tx, c30, c31);
    store(first_row + ty * 4u + 64u, first_feature + tx, c40, c41);
    store(first_row + ty * 4u + 65u, first_feature + tx, c50, c51);
    store(first_row + ty * 4u + 66u, first_feature + tx, c60, c61);
    store(first_row + ty * 4u + 67u, first_feature + tx, c70, c71);
}
