// A workgroup of 4 * ROWS threads computes a tile of ROWS x 64 outputs, 4 x 4 a thread, from tiles of 32 columns of a
// and 32 rows of b. A thread writes whole vec4s of a tile: two that write parts of one would race. The quads of a row
// of a are swapped about (`place`) so that eight rows' lie in different banks.
// a (M, K), b (K, N), out (M, N); M comes from the length of out.

override N: u32;
override K: u32;
override ROWS: u32;

@group(0) @binding(0) var<storage, read> a: array<Real>;
@group(0) @binding(1) var<storage, read> b: array<Real>;
@group(0) @binding(2) var<storage, read_write> out: array<Real>;

var<workgroup> a_tile: array<vec4<f32>, ROWS * 8u>; // rows of 8 quads of columns
var<workgroup> b_tile: array<vec4<f32>, 512>; // 32 rows of 16 quads

fn place(row: u32, quad: u32) -> u32 {
    return row * 8u + (quad ^ (row % 8u));
}

fn a_at(row: u32, k: u32) -> f32 {
    return select(0.0, f32(a[row * K + min(k, K - 1u)]), k < K);
}

// Columns past the end repeat the last one: their results are not stored.
fn b_at(k: u32, column: u32) -> f32 {
    return select(0.0, f32(b[min(k, K - 1u) * N + min(column, N - 1u)]), k < K);
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
    let first_column = tile % across * 64u;
    let ty = local / 16u;
    let tx = local % 16u;
    // Rows past the end repeat the last one too.
    let a_row = min(first_row + local / 4u, rows - 1u);

    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var base = 0u; base < K; base += 32u) {
        workgroupBarrier(); // the tile before has been used
        for (var quad = local % 4u; quad < 8u; quad += 4u) {
            let k = base + quad * 4u;
            a_tile[place(local / 4u, quad)] =
                vec4<f32>(a_at(a_row, k), a_at(a_row, k + 1u), a_at(a_row, k + 2u), a_at(a_row, k + 3u));
        }
        for (var i = local; i < 512u; i += 4u * ROWS) {
            let k = base + i / 16u;
            let column = first_column + i % 16u * 4u;
            b_tile[i] = vec4<f32>(b_at(k, column), b_at(k, column + 1u), b_at(k, column + 2u), b_at(k, column + 3u));
        }
        workgroupBarrier();
        for (var quad = 0u; quad < 8u; quad++) {
            let left0 = a_tile[place(ty * 4u, quad)];
            let left1 = a_tile[place(ty * 4u + 1u, quad)];
            let left2 = a_tile[place(ty * 4u + 2u, quad)];
            let left3 = a_tile[place(ty * 4u + 3u, quad)];
            for (var k = 0u; k < 4u; k++) {
                let right = b_tile[(quad * 4u + k) * 16u + tx];
                sum0 += left0[k] * right;
                sum1 += left1[k] * right;
                sum2 += left2[k] * right;
                sum3 += left3[k] * right;
            }
        }
    }
    let sums = array<vec4<f32>, 4>(sum0, sum1, sum2, sum3);
    for (var i = 0u; i < 4u; i++) {
        let row = first_row + ty * 4u + i;
        for (var j = 0u; j < 4u; j++) {
            let column = first_column + tx * 4u + j;
            if (row < rows && column < N) {
                out[row * N + column] = Real(sums[i][j]);
            }
        }
    }
}
