// with: flash_bindings
// One thread attends all keys for one row and 64 columns of the output, without a barrier, for CPU adapters.
// Reference: webxpu/ops/flash_attention.py.

@compute @workgroup_size(16)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = arrayLength(&q) / (HEADS * D);
    let keys = arrayLength(&k) / (HEADS * D);
    let length = rows / GROUP;
    let across = (DV + 63u) / 64u;
    let job = (wid.x + wid.y * num.x) * 16u + local;
    if (job >= HEADS * rows * across) {
        return;
    }
    let head = job / across / rows;
    let row = job / across % rows;
    let first_column = job % across * 64u;
    let quads = min((DV - first_column + 3u) / 4u, 16u);
    let seen = keys_of_row(row, length, keys);

    var largest = LOWEST;
    var weight = 0.0;
    var sums: array<vec4<f32>, 16>;
    for (var key = 0u; key < seen; key++) {
        let bits = score_bits(product_of(head * rows + row, head * keys + key), head, row, key, length, keys);
        if (bits == HIDDEN) {
            continue;
        }
        let score = bitcast<f32>(bits);
        if (score > largest) {
            let shrink = exp(largest - score);
            largest = score;
            weight *= shrink;
            for (var i = 0u; i < quads; i++) {
                sums[i] *= shrink;
            }
        }
        let share = exp(score - largest);
        weight += share;
        for (var i = 0u; i < quads; i++) {
            sums[i] += share * v_quad(head * keys + key, first_column + i * 4u);
        }
    }
    for (var i = 0u; i < quads; i++) {
        store_quad(head * rows + row, first_column + i * 4u, normalised(sums[i], weight));
    }
}
