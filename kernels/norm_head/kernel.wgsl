// with: weights norm state head
// One thread computes four logits, without a barrier.
// Reference: webxpu/ops/norm_head.py. weights (V, K), x (L, K), gain (K,), out (V,).

override N: u32;
override K: u32;

@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<uniform> state: State;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = ((wid.x + wid.y * num.x) * 64u + local) * 4u;
    if (row >= N) {
        return;
    }
    let x_row = head_row();
    let rows = min(vec4<u32>(row) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(N - 1u));
    var sums = vec4<f32>();
    var squares = 0.0;
    for (var i = 0u; i < blocks(); i++) {
        let block = load_block(x_row, i);
        squares += block.squares;
        sums += vec4<f32>(
            dot32(rows.x, i, block.gained),
            dot32(rows.y, i, block.gained),
            dot32(rows.z, i, block.gained),
            dot32(rows.w, i, block.gained),
        );
    }
    let logits = sums * root(squares);
    for (var i = 0u; i < min(4u, N - row); i++) {
        out[row + i] = logits[i];
    }
}
