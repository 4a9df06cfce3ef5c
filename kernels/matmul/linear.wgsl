// with: weights
// A workgroup of 4 * ROWS threads computes a tile of ROWS x 64 outputs, 4 x 4 a thread, from tiles of 32 columns of x
// and of the weight. Both lie column first, so that a thread reads four rows at once.
// Reference: webxpu/ops/matmul.py `linear`. weights (N, K), x (L, K), out (L, N); L comes from the length of out.
override N: u32;
override K: u32;
override ROWS: u32;

@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

var<workgroup> x_tile: array<vec4<f32>, ROWS * 8u>; // 32 columns of ROWS / 4 quads
var<workgroup> w_tile: array<vec4<f32>, 512>; // 32 columns of 16 quads

fn x_at(row: u32, column: u32) -> f32 {
    return select(0.0, x[row * K + min(column, K - 1u)], column < K);
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
    let tx = local % 16u;

    // Rows and features past the end repeat the last one: their results are not stored.
    let load_row = min(first_row + local % ROWS, rows - 1u);
    let load_quad = local / ROWS; // this thread loads quads load_quad and load_quad + 4 of its row
    let load_feature = min(first_feature + local, N - 1u);

    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var block = 0u; block < (K + 31u) / 32u; block++) {
        workgroupBarrier(); // the tile before has been used
        for (var i = 0u; i < 2u; i++) {
            let quad = load_quad + 4u * i;
            let place = (quad * 4u) * (ROWS / 4u) + local % ROWS / 4u;
            let column = block * 32u + quad * 4u;
            x_tile[place][local % 4u] = x_at(load_row, column);
            x_tile[place + ROWS / 4u][local % 4u] = x_at(load_row, column + 1u);
            x_tile[place + 2u * (ROWS / 4u)][local % 4u] = x_at(load_row, column + 2u);
            x_tile[place + 3u * (ROWS / 4u)][local % 4u] = x_at(load_row, column + 3u);
        }
        if (local < 64u) {
            let w = unpack32(load_feature, block);
            for (var i = 0u; i < 8u; i++) {
                let place = i * 64u + local / 4u;
                w_tile[place][local % 4u] = w[i].x;
                w_tile[place + 16u][local % 4u] = w[i].y;
                w_tile[place + 32u][local % 4u] = w[i].z;
                w_tile[place + 48u][local % 4u] = w[i].w;
            }
        }
        workgroupBarrier();
        for (var k = 0u; k < 32u; k++) {
            let a = x_tile[k * (ROWS / 4u) + ty];
            let b = w_tile[k * 16u + tx];
            sum0 += a.x * b;
            sum1 += a.y * b;
            sum2 += a.z * b;
            sum3 += a.w * b;
        }
    }
    let sums = array<vec4<f32>, 4>(sum0, sum1, sum2, sum3);
    for (var i = 0u; i < 4u; i++) {
        let row = first_row + ty * 4u + i;
        for (var j = 0u; j < 4u; j++) {
            let feature = first_feature + tx * 4u + j;
            if (row < rows && feature < N) {
                out[row * N + feature] = sums[i][j];
            }
        }
    }
}
