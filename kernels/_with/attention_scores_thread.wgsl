// with: attention_qk_bindings
// One thread computes one score, without a barrier, for CPU adapters. Keys that a row does not see are left as they
// are.
// Reference: webxpu/ops/_attention.py.

@compute @workgroup_size(16)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = arrayLength(&q) / (HEADS * D);
    let keys = arrayLength(&k) / (HEADS * D);
    let job = (wid.x + wid.y * num.x) * 16u + local;
    if (job >= arrayLength(&scores)) {
        return;
    }
    let head = job / keys / rows;
    let row = job / keys % rows;
    let key = job % keys;
    let length = rows / GROUP;
    if (key < keys_of_row(row, length, keys)) {
        let product = product_of(head * rows + row, head * keys + key);
        scores[job] = score_bits(product, head, row, key, length, keys);
    }
}
