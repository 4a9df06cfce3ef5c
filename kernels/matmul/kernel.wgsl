// A workgroup of 4 * ROWS threads computes a tile of ROWS x 64 outputs, 4 x 4 a thread, from tiles of 32 columns of a
// and 32 rows of b. The tile of a lies column first, so that a thread reads four of its rows at once.
// Reference: webxpu/ops/matmul.py `matmul`. a (M, K), b (K, N), out (M, N); M comes from the length of out.

override N: u32;
override K: u32;
override ROWS: u32;

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

var<workgroup> a_tile: array<vec4<f32>, ROWS * 8u>; // 32 columns of ROWS / 4 quads
var<workgroup> b_tile: array<vec4<f32>, 512>; // 32 rows of 16 quads

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

    // Rows and columns past the end repeat the last one: their results are not stored.
    let a_row = min(first_row + local % ROWS, rows - 1u);
    let b_column = min(first_column + local % 64u, N - 1u);

    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var base = 0u; base < K; base += 32u) {
        workgroupBarrier(); // the tile before has been used
        for (var i = local / ROWS; i < 32u; i += 4u) {
            let k = base + i;
            let value = select(0.0, a[a_row * K + min(k, K - 1u)], k < K);
            a_tile[i * (ROWS / 4u) + local % ROWS / 4u][local % 4u] = value;
        }
        for (var i = local / 64u; i < 32u; i += ROWS / 16u) {
            let k = base + i;
            let value = select(0.0, b[min(k, K - 1u) * N + b_column], k < K);
            b_tile[i * 16u + local % 64u / 4u][local % 4u] = value;
        }
        workgroupBarrier();
        for (var k = 0u; k < 32u; k++) {
            let left = a_tile[k * (ROWS / 4u) + ty];
            let right = b_tile[k * 16u + tx];
            sum0 += left.x * right;
            sum1 += left.y * right;
            sum2 += left.z * right;
            sum3 += left.w * right;
        }
    }
    let sums = array<vec4<f32>, 4>(sum0, sum1, sum2, sum3);
    for (var i = 0u; i < 4u; i++) {
        let row = first_row + ty * 4u + i;
        for (var j = 0u; j < 4u; j++) {
            let column = first_column + tx * 4u + j;
            if (row < rows && column < N) {
                out[row * N + column] = sums[i][j];
            }
        }
    }
}
