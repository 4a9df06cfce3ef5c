// with: state append best
// One workgroup picks the candidate with the highest value, the lowest id on ties, and appends it.
// Reference: webxpu/ops/advance.py. values, ids (n,), history (C,).

@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read> ids: array<i32>;
@group(0) @binding(2) var<storage, read_write> history: array<i32>;
@group(0) @binding(3) var<storage, read_write> state: State;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) local: u32) {
    let count = arrayLength(&values);
    var value = values[min(local, count - 1u)];
    var id = ids[min(local, count - 1u)];
    for (var i = local + 256u; i < count; i += 256u) {
        if (wins(values[i], ids[i], value, id)) {
            value = values[i];
            id = ids[i];
        }
    }
    let best = best_thread(local, value, id);
    if (local == 0u) {
        append(best_ids[best]);
    }
}
