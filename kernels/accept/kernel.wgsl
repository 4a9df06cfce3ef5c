// with: state fixed append best
// One workgroup picks the best candidate of each row and appends them in order, up to the first that was not drafted.
// Reference: webxpu/ops/accept.py. values, ids (L, n), history (C,).

override ROWS: u32;
override FIRST: u32; // the row to begin with

@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read> ids: array<i32>;
@group(0) @binding(2) var<storage, read_write> history: array<i32>;
@group(0) @binding(3) var<storage, read_write> state: State;

var<workgroup> valid: u32;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) local: u32) {
    let count = arrayLength(&values) / ROWS;
    let runs = state.runs + 1u;
    if (local == 0u) {
        valid = select(clamp(state.rows, 1u, ROWS - FIRST), 0u, state.done != 0u);
        state.rows = select(1u, state.rows, state.done != 0u);
    }
    let rows = workgroupUniformLoad(&valid);
    var going = local == 0u;
    for (var row = 0u; row < rows; row++) {
        let first = (FIRST + row) * count;
        var value = values[first + min(local, count - 1u)];
        var id = ids[first + min(local, count - 1u)];
        for (var i = local + 256u; i < count; i += 256u) {
            if (wins(values[first + i], ids[first + i], value, id)) {
                value = values[first + i];
                id = ids[first + i];
            }
        }
        let best = best_thread(local, value, id);
        if (going) {
            let token = best_ids[best];
            let next = min(state.position + 1u, arrayLength(&history) - 1u);
            going = history[next] == token;
            append(token); // nothing any more behind a stop id
            state.runs = runs;
        }
        workgroupBarrier();
    }
}
