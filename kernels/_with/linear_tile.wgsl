// A workgroup of 4 * ROWS threads computes a tile of ROWS x 64 outputs, 4 x 4 a thread, from tiles of 32 columns of x
// and of the weight; the next are loaded while these are used. Where tiles are few, workgroups share a tile's columns, and
// their sums are added up afterwards (sum.wgsl). A thread writes whole vec4s of a tile: two that write parts of one would
// race. The quads of a row are swapped about (`place`) so that eight rows' lie in different banks.
// weights (N, K), x (L, K), out (shares, L, N); L and the number of shares come from the lengths of x and out.

override N: u32;
override K: u32;
override ROWS: u32;

@group(0) @binding(1) var<storage, read> x: array<Real>;
@group(0) @binding(2) var<storage, read_write> out: array<Real>;

var<workgroup> x_tile: array<vec4<f32>, ROWS * 8u>; // rows of 8 quads of columns
var<workgroup> w_tile: array<vec4<f32>, 512>; // 64 features of 8 quads

fn place(row: u32, quad: u32) -> u32 {
    return row * 8u + (quad ^ (row % 8u));
}

fn x_at(row: u32, column: u32) -> f32 {
    return select(0.0, f32(x[row * K + min(column, K - 1u)]), column < K);
}

fn x_quad(row: u32, column: u32) -> vec4<f32> {
    return vec4<f32>(x_at(row, column), x_at(row, column + 1u), x_at(row, column + 2u), x_at(row, column + 3u));
}

@compute @workgroup_size(4u * ROWS)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let lines = arrayLength(&out) / N;
    let rows = select(min(lines, arrayLength(&x) / max(K, 1u)), lines, HALVES || K == 0u); // shares are never halves
    let shares = lines / rows;
    let job = wid.x + wid.y * num.x;
    let share = job % shares;
    let tile = job / shares;
    let across = (N + 63u) / 64u;
    let first_row = tile / across * ROWS;
    let first_feature = tile % across * 64u;
    let ty = local / 16u;
    let tx = local % 16u; // features tx, tx + 16, tx + 32 and tx + 48 are this thread's

    // Rows and features past the end repeat the last one: their results are not stored.
    let load_row = min(first_row + local / 4u, rows - 1u);
    let load_feature = min(first_feature + local, N - 1u);

    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    let x_column = local % 4u * 4u;
    let blocks = (K + 31u) / 32u;
    let first_block = share * blocks / shares;
    let end_block = (share + 1u) * blocks / shares;

    var next_x0 = x_quad(load_row, first_block * 32u + x_column);
    var next_x1 = x_quad(load_row, first_block * 32u + x_column + 16u);
    var next_w: array<vec4<f32>, 8>;
    if (local < 64u && K > 0u) {
        next_w = unpack32(load_feature, first_block);
    }
    for (var block = first_block; block < end_block; block++) {
        workgroupBarrier(); // the tile before has been used
        x_tile[place(local / 4u, local % 4u)] = next_x0;
        x_tile[place(local / 4u, local % 4u + 4u)] = next_x1;
        if (local < 64u) {
            for (var q = 0u; q < 8u; q++) {
                w_tile[place(local, q)] = next_w[q];
            }
        }
        workgroupBarrier();
        let following = min(block + 1u, end_block - 1u);
        next_x0 = x_quad(load_row, following * 32u + x_column);
        next_x1 = x_quad(load_row, following * 32u + x_column + 16u);
        if (local < 64u) {
            next_w = unpack32(load_feature, following);
        }
        for (var quad = 0u; quad < 8u; quad++) {
            let w = transpose(mat4x4<f32>(
                w_tile[place(tx, quad)],
                w_tile[place(tx + 16u, quad)],
                w_tile[place(tx + 32u, quad)],
                w_tile[place(tx + 48u, quad)],
            ));
            let x0 = x_tile[place(ty * 4u, quad)];
            let x1 = x_tile[place(ty * 4u + 1u, quad)];
            let x2 = x_tile[place(ty * 4u + 2u, quad)];
            let x3 = x_tile[place(ty * 4u + 3u, quad)];
            for (var k = 0u; k < 4u; k++) {
                sum0 += x0[k] * w[k];
                sum1 += x1[k] * w[k];
                sum2 += x2[k] * w[k];
                sum3 += x3[k] * w[k];
            }
        }
    }
    let sums = array<vec4<f32>, 4>(sum0, sum1, sum2, sum3);
    for (var i = 0u; i < 4u; i++) {
        let row = first_row + ty * 4u + i;
        for (var j = 0u; j < 4u; j++) {
            let feature = first_feature + tx + 16u * j;
            if (row < rows && feature < N) {
                out[(share * rows + row) * N + feature] = Real(sums[i][j]);
            }
        }
    }
}
