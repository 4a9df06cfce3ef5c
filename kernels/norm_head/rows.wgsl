// with: weights norm
// kernel.wgsl for every row of a few, each with its sums in the same order: one thread computes four logits of all of
// them.
// Reference: webxpu/ops/norm_head.py, norm_head_rows. weights (V, K), x (ROWS, K), gain (K,), out (ROWS, V).

override N: u32;
override K: u32;
override ROWS: u32; // at most 9

@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = ((wid.x + wid.y * num.x) * 64u + local) * 4u;
    if (first >= N) {
        return;
    }
    let columns = min(vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(N - 1u));
    var sums: array<vec4<f32>, 9>;
    var squares: array<f32, 9>;
    for (var i = 0u; i < blocks(); i++) {
        for (var row = 0u; row < ROWS; row++) {
            let block = load_block(row, i);
            squares[row] += block.squares;
            sums[row] += vec4<f32>(
                dot32(columns.x, i, block.gained),
                dot32(columns.y, i, block.gained),
                dot32(columns.z, i, block.gained),
                dot32(columns.w, i, block.gained),
            );
        }
    }
    for (var row = 0u; row < ROWS; row++) {
        let logits = sums[row] * root(squares[row]);
        for (var i = 0u; i < min(4u, N - first); i++) {
            out[row * N + first + i] = logits[i];
        }
    }
}
