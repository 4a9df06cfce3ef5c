// A workgroup of 4 * ROWS threads computes a tile of ROWS x 64 outputs, 4 x 4 a thread, from tiles of 32 columns of x
// and of the weight. A thread writes whole vec4s of a tile: two that write parts of one would race. The quads of a row
// are swapped about (`place`) so that eight rows' lie in different banks.
// weights (N, K), x (L, K), out (L, N); L comes from the length of out.

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

@compute @workgroup_size(4u * ROWS)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = arrayLength(&out) / N;
    let tile = wid.x + wid.y * num.x;
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
    for (var block = 0u; block < (K + 31u) / 32u; block++) {
        workgroupBarrier(); // the tile before has been used
        for (var quad = local % 4u; quad < 8u; quad += 4u) {
            let column = block * 32u + quad * 4u;
            x_tile[place(local / 4u, quad)] = vec4<f32>(
                x_at(load_row, column),
                x_at(load_row, column + 1u),
                x_at(load_row, column + 2u),
                x_at(load_row, column + 3u),
            );
        }
        if (local < 64u) {
            let w = unpack32(load_feature, block);
            w_tile[place(local, 0u)] = w[0];
            w_tile[place(local, 1u)] = w[1];
            w_tile[place(local, 2u)] = w[2];
            w_tile[place(local, 3u)] = w[3];
            w_tile[place(local, 4u)] = w[4];
            w_tile[place(local, 5u)] = w[5];
            w_tile[place(local, 6u)] = w[6];
            w_tile[place(local, 7u)] = w[7];
        }
        workgroupBarrier();
        for (var quad = 0u; quad < 8u; quad++) {
            let w = mat4x4<f32>(
                w_tile[place(tx, quad)],
                w_tile[place(tx + 16u, quad)],
                w_tile[place(tx + 32u, quad)],
                w_tile[place(tx + 48u, quad)],
            );
            sum0 += x_tile[place(ty * 4u, quad)] * w;
            sum1 += x_tile[place(ty * 4u + 1u, quad)] * w;
            sum2 += x_tile[place(ty * 4u + 2u, quad)] * w;
            sum3 += x_tile[place(ty * 4u + 3u, quad)] * w;
        }
    }
    let sums = array<vec4<f32>, 4>(sum0, sum1, sum2, sum3);
    for (var i = 0u; i < 4u; i++) {
        let row = first_row + ty * 4u + i;
        for (var j = 0u; j < 4u; j++) {
            let feature = first_feature + tx + 16u * j;
            if (row < rows && feature < N) {
                out[row * N + feature] = Real(sums[i][j]);
            }
        }
    }
}
