// with: state
// One workgroup looks for the latest of the longest earlier runs that equal the history's end, and writes what followed it
// behind the end.
// Reference: webxpu/ops/draft.py. history (C,).

@group(0) @binding(0) var<storage, read_write> history: array<i32>;
@group(0) @binding(1) var<storage, read_write> state: State;

var<workgroup> longest: atomic<u32>;
var<workgroup> latest: atomic<u32>;

// How many ids up to `end`, which is not among them, equal the last ones; at most `most`.
fn matching(end: u32, most: u32) -> u32 {
    var count = 0u;
    while (count < min(most, end)) {
        if (history[end - 1u - count] != history[state.position - count]) {
            break;
        }
        count++;
    }
    return count;
}

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) local: u32) {
    let position = state.position;
    let size = min(state.capacity, arrayLength(&history));
    let able = state.done == 0u && state.sinks == 0u && position < size;
    var length = 1u; // a single id is no run
    var place = 0u;
    if (able) {
        for (var end = local + 2u; end <= position; end += 256u) {
            let count = matching(end, state.ngram);
            if (count > 1u && count >= length) {
                length = count;
                place = end;
            }
        }
    }
    atomicMax(&longest, length);
    workgroupBarrier();
    if (length == atomicLoad(&longest)) {
        atomicMax(&latest, place);
    }
    workgroupBarrier();
    if (local == 0u && state.done == 0u) {
        let first = atomicLoad(&latest);
        var drafts = 0u;
        if (first > 0u) {
            drafts = min(min(state.drafts, position + 1u - first), size - 1u - position);
        }
        for (var i = 0u; i < drafts; i++) {
            history[position + 1u + i] = history[first + i];
        }
        state.rows = 1u + drafts;
    }
}
