// with: attention_pv
// One thread computes four columns of a row, without a barrier, for CPU adapters.
// Reference: webxpu/ops/_attention.py.

@compute @workgroup_size(16)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = arrayLength(&out) / (HEADS * DV);
    let keys = arrayLength(&v) / (HEADS * DV);
    let quads = (DV + 3u) / 4u;
    let job = (wid.x + wid.y * num.x) * 16u + local;
    if (job >= HEADS * rows * quads) {
        return;
    }
    let row = job / quads;
    let column = job % quads * 4u;
    let seen = keys_of_row(row % rows, rows / GROUP, keys);
    var sum = vec4<f32>();
    for (var key = 0u; key < seen; key++) {
        sum += f32(probs[row * keys + key]) * v_quad(row / rows * keys + key, column);
    }
    store_quad(row, column, sum);
}
