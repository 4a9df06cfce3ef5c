// A workgroup of 256 threads computes a tile of 128 x 128 outputs, 8 x 8 a thread, from tiles of 16 columns of a and 16
// rows of b; the next tiles are loaded while these are used. A thread writes whole vec4s of a tile: two that wrote
// parts of one would race. The quads of a row of a are swapped about (`place`): eight rows' lie in different banks.
// a (M, K), b (K, N), out (M, N), K and N multiples of 4; M comes from the length of out.

override N: u32;
override K: u32;

@group(0) @binding(0) var<storage, read> a: array<vec4<Real>>;
@group(0) @binding(1) var<storage, read> b: array<vec4<Real>>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<Real>>;

var<workgroup> a_tile: array<vec4<f32>, 512>; // 128 rows of 4 quads of columns
var<workgroup> b_tile: array<vec4<f32>, 512>; // 16 rows of 32 quads

fn place(row: u32, quad: u32) -> u32 {
    return row * 4u + (quad ^ (row / 2u % 4u));
}

fn a_quad(row: u32, k: u32) -> vec4<f32> {
    return select(vec4<f32>(), vec4<f32>(a[row * (K / 4u) + min(k, K - 4u) / 4u]), k < K);
}

fn b_quad(k: u32, quad: u32) -> vec4<f32> {
    return select(vec4<f32>(), vec4<f32>(b[min(k, K - 1u) * (N / 4u) + quad]), k < K);
}

fn store(row: u32, quad: u32, low: vec4<f32>, high: vec4<f32>) {
    if (row >= arrayLength(&out) / (N / 4u)) {
        return;
    }
    if (quad < N / 4u) {
        out[row * (N / 4u) + quad] = vec4<Real>(low);
    }
    if (quad + 16u < N / 4u) {
        out[row * (N / 4u) + quad + 16u] = vec4<Real>(high);
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

    // What this thread loads: two quads of a, two of b. Rows and columns past the end repeat the last one: their results
    // are not stored.
    let a_column = local % 4u * 4u;
    let a_row0 = min(first_row + local / 4u, rows - 1u);
    let a_row1 = min(first_row + local / 4u + 64u, rows - 1u);
    let b_row = local / 32u;
    let b_column = min(first_quad + local % 32u, N / 4u - 1u);

    var next_a0 = a_quad(a_row0, a_column);
    var next_a1 = a_quad(a_row1, a_column);
    var next_b0 = b_quad(b_row, b_column);
    var next_b1 = b_quad(b_row + 8u, b_column);
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
        a_tile[place(local / 4u, local % 4u)] = next_a0;
        a_tile[place(local / 4u + 64u, local % 4u)] = next_a1;
        b_tile[local] = next_b0;
        b_tile[local + 256u] = next_b1;
        workgroupBarrier();
        let k_next = base + 16u;
        next_a0 = a_quad(a_row0, k_next + a_column);
        next_a1 = a_quad(a_row1, k_next + a_column);
        next_b0 = b_quad(k_next + b_row, b_column);
        next_b1 = b_quad(k_next + b_row + 8u, b_column);
        for (var q = 0u; q < 4u; q++) {
            let a0 = a_tile[place(ty * 4u, q)];
            let a1 = a_tile[place(ty * 4u + 1u, q)];
            let a2 = a_tile[place(ty * 4u + 2u, q)];
            let a3 = a_tile[place(ty * 4u + 3u, q)];
            let a4 = a_tile[place(ty * 4u + 64u, q)];
            let a5 = a_tile[place(ty * 4u + 65u, q)];
            let a6 = a_tile[place(ty * 4u + 66u, q)];
            let a7 = a_tile[place(ty * 4u + 67u, q)];
            for (var k = 0u; k < 4u; k++) {
                let b_low = b_tile[(q * 4u + k) * 32u + local % 16u];
                let b_high = b_tile[(q * 4u + k) * 32u + local % 16u + 16u];
                c00 += a0[k] * b_low;
                c01 += a0[k] * b_high;
                c10 += a1[k] * b_low;
                c11 += a1[k] * b_high;
                c20 += a2[k] * b_low;
                c21 += a2[k] * b_high;
                c30 += a3[k] * b_low;
                c31 += a3[k] * b_high;
                c40 += a4[k] * b_low;
                c41 += a4[k] * b_high;
                c50 += a5[k] * b_low;
                c51 += a5[k] * b_high;
                c60 += a6[k] * b_low;
                c61 += a6[k] * b_high;
                c70 += a7[k] * b_low;
                c71 += a7[k] * b_high;
            }
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
