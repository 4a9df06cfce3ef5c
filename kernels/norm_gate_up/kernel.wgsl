// with: weights norm activation
// One thread computes one gate and its up of a single token, without a barrier.
// Reference: webxpu/ops/norm_gate_up.py. weights (2 F, K), x (1, K), gain (K,), out (1, F).

override N: u32;
override K: u32;
override KIND: u32;

@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = (wid.x + wid.y * num.x) * 64u + local;
    if (row >= N / 2u) {
        return;
    }
    var sums = vec2<f32>();
    var squares = 0.0;
    for (var i = 0u; i < blocks(); i++) {
        let block = load_block(0u, i);
        squares += block.squares;
        sums += vec2<f32>(dot32(row, i, block.gained), dot32(row + N / 2u, i, block.gained));
    }
    sums *= root(squares);
    out[row] = activate(KIND, sums.x, 1.0) * sums.y;
}
