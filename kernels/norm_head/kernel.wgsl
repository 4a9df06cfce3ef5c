// with: weights norm few_rows state head
// One thread computes four logits of a row, without a barrier.
// Reference: webxpu/ops/norm_head.py. weights (V, K), x (L, K), gain (K,), out (V,) or (L, V).

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
    let rows = arrayLength(&out) / N;
    let place = row_of(wid.x + wid.y * num.x, rows);
    let column = (place.y * 64u + local) * 4u;
    if (column >= N) {
        return;
    }
    let x_row = head_row(place.x, rows);
    let columns = min(vec4<u32>(column) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(N - 1u));
    var sums = vec4<f32>();
    var squares = 0.0;
    for (var i = 0u; i < blocks(); i++) {
        let block = load_block(x_row, i);
        squares += block.squares;
        sums += vec4<f32>(
            dot32(columns.x, i, block.gained),
            dot32(columns.y, i, block.gained),
            dot32(columns.z, i, block.gained),
            dot32(columns.w, i, block.gained),
        );
    }
    let logits = sums * root(squares);
    for (var i = 0u; i < min(4u, N - column); i++) {
        out[place.x * N + column + i] = logits[i];
    }
}
