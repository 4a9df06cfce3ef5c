// with: weights norm few_rows
// One thread computes UNITS (1 or 2) times two neighbours of q, k and v of a row, which rope_write.wgsl then turns and
// stores; x is loaded once for all of them.
// Reference: webxpu/ops/norm_qkv.py. weights (N, K), x (L, K), gain (K,), out (L, N). N is even.

override N: u32;
override K: u32;
override UNITS: u32;

@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = row_of(wid.x + wid.y * num.x, arrayLength(&x) / (K / 4u));
    let row = place.x;
    let unit = place.y * (64u * UNITS) + local;
    if (unit >= N / 2u) {
        return;
    }
    let column = 2u * unit;
    let other = 2u * min(unit + 64u, N / 2u - 1u);
    var sums = vec4<f32>();
    var squares = 0.0;
    for (var i = 0u; i < blocks(); i++) {
        let block = load_block(row, i);
        squares += block.squares;
        sums.x += dot32(column, i, block.gained);
        sums.y += dot32(column + 1u, i, block.gained);
        if (UNITS > 1u) {
            sums.z += dot32(other, i, block.gained);
            sums.w += dot32(other + 1u, i, block.gained);
        }
    }
    let scaled = sums * root(squares);
    out[row * N + column] = scaled.x;
    out[row * N + column + 1u] = scaled.y;
    if (UNITS > 1u) {
        out[row * N + other] = scaled.z;
        out[row * N + other + 1u] = scaled.w;
    }
}
