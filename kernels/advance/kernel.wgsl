// with: state fixed append candidates
// One workgroup picks the candidate with the highest value, the lowest id on ties, and appends it.
// Reference: webxpu/ops/advance.py. values, ids (n,), history (C,).

@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read> ids: array<i32>;
@group(0) @binding(2) var<storage, read_write> history: array<i32>;
@group(0) @binding(3) var<storage, read_write> state: State;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) local: u32) {
    let best = best_id(local);
    if (local == 0u) {
        append(best);
    }
}
