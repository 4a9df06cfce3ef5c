// with: weights
// A workgroup of 256 threads computes a tile of 128 x 128 outputs, 8 x 8 a thread, from tiles of 16 columns of x and of
// the weight, both column first, so that a thread reads four rows at once. Half of the threads load the weight, a block
// of 32 of one row each; the other half loads x, whose quads are swapped about (`turned`) so that 32 lanes write to 32
// banks.
// Reference: webxpu/ops/matmul.py `linear`. weights (N, K), x (L, K), out (L, N), K and N multiples of 4; L comes from
// the length of out.

override N: u32;
override K: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;

var<workgroup> x_tile: array<vec4<f32>, 512>; // 16 columns of 32 quads
var<workgroup> w_tile: array<vec4<f32>, 512>;

// Where rows 4 * group .. + 3 of a column lie.
fn turned(column: u32, group: u32) -> u32 {
    return column * 32u + (group ^ (column / 4u * 2u));
}

fn x_quad(row: u32, k: u32) -> vec4<f32> {
    return select(vec4<f32>(), x[row * (K / 4u) + min(k, K - 4u) / 4u], k < K);
}

fn put_x(row: u32, column: u32, values: vec4<f32>) {
    x_tile[turned(column, row / 4u)][row % 4u] = values.x;
    x_tile[turned(column + 1u, row / 4u)][row % 4u] = values.y;
    x_tile[turned(column + 2u, row / 4u)][row % 4u] = values.z;
    x_tile[turned(column + 3u, row / 4u)][row % 4u] = values.w;
}

fn put_w(feature: u32, column: u32, values: vec4<f32>) {
    let place = column * 32u + feature / 4u;
    w_tile[place][feature % 4u] = values.x;
    w_tile[place + 32u][feature % 4u] = values.y;
    w_tile[place + 64u][feature % 4u] = values.z;
    w_tile[place + 96u][feature % 4u] = values.w;
}

fn store(row: u32, quad: u32, low: vec4<f32>, high: vec4<f32>) {
    if (row >= arrayLength(&out) / (N / 4u)) {
        return;
    }
    if (quad < N / 4u) {
        out[row * (N / 4u) + quad] = low;
    }
    if (quad + 16u < N / 4u) {
        out[row * (N / 4u) + quad + 16u] = high;
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = arrayLength(&out) / (N / 4u);
    let tile = wid.x + wid.y * num.x;
    let across = (N + 127u) / 128u;
    let first_row = tile / across * 128u;
    let first_quad = tile % across * 32u;
    let ty = local / 16u;
    let quad = first_quad + local % 16u;

    // What this thread loads: a block of a weight row, or four quads of x, 32 rows apart. Rows and features past the end
    // repeat the last one: their results are not stored.
    let loads_weight = local < 128u;
    let feature = min(first_quad * 4u + local % 128u, N - 1u);
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
            put_w(local, 0u, next[0]);
            put_w(local, 4u, next[1]);
            put_w(local, 8u, next[2]);
            put_w(local, 12u, next[3]);
            if (base % 32u == 0u) { // the other half of the block
                next[0] = next[4];
                next[1] = next[5];
                next[2] = next[6];
                next[3] = next[7];
            } else {
                next = unpack32(feature, min(base / 32u + 1u, (K - 1u) / 32u));
            }
        } else {
            put_x(x_row, x_column, next[0]);
            put_x(x_row + 32u, x_column, next[1]);
            put_x(x_row + 64u, x_column, next[2]);
            put_x(x_row + 96u, x_column, next[3]);
            let k_next = base + 16u + x_column;
            next[0] = x_quad(x_row0, k_next);
            next[1] = x_quad(x_row1, k_next);
            next[2] = x_quad(x_row2, k_next);
            next[3] = x_quad(x_row3, k_next);
        }
        workgroupBarrier();
        for (var k = 0u; k < 16u; k++) {
            let x_low = x_tile[turned(k, ty)];
            let x_high = x_tile[turned(k, ty + 16u)];
            let w_low = w_tile[k * 32u + local % 16u];
            let w_high = w_tile[k * 32u + local % 16u + 16u];
            c00 += x_low.x * w_low;
            c01 += x_low.x * w_high;
            c10 += x_low.y * w_low;
            c11 += x_low.y * w_high;
            c20 += x_low.z * w_low;
            c21 += x_low.z * w_high;
            c30 += x_low.w * w_low;
            c31 += x_low.w * w_high;
            c40 += x_high.x * w_low;
            c41 += x_high.x * w_high;
            c50 += x_high.y * w_low;
            c51 += x_high.y * w_high;
            c60 += x_high.z * w_low;
            c61 += x_high.z * w_high;
            c70 += x_high.w * w_low;
            c71 += x_high.w * w_high;
        }
    }
    store(first_row + ty * 4u + 0u, quad, c00, c01);
    store(first_row + ty * 4u + 1u, quad, c10, c11);
    store(first_row + ty * 4u + 2u, quad, c20, c21);
    store(first_row + ty * 4u + 3u, quad, c30, c31);
    store(first_row + ty * 4u + 64u, quad, c40, c41);
    store(first_row + ty * 4u + 65u, quad, c50, c51);
    store(first_row + ty * 4u + 66u, quad, c60, c61);
    store(first_row + ty * 4u + 67u, quad, c70, c71);
}
