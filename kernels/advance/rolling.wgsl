// with: state rolling append candidates
// One workgroup picks the candidate with the highest value, the lowest id on ties, and appends it, where a full cache drops a page.
// Reference: webxpu/ops/advance.py. values, ids (n,), history (C,), pages (m,).

@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read> ids: array<i32>;
@group(0) @binding(2) var<storage, read_write> history: array<i32>;
@group(0) @binding(3) var<storage, read_write> state: State;
@group(0) @binding(4) var<storage, read_write> pages: array<i32>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) local: u32) {
    let best = best_id(local);
    if (local == 0u) {
        append(best);
    }
}
