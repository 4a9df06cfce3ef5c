// The best of a workgroup of 256 threads, each with a value and an id: the highest value, the lowest id on ties.

const GROUP = 16u;

var<workgroup> best_values: array<f32, 256>;
var<workgroup> best_ids: array<i32, 256>;

fn wins(value: f32, id: i32, over_value: f32, over_id: i32) -> bool {
    return value > over_value || (value == over_value && id < over_id);
}

// The best of GROUP entries, `stride` apart.
fn best_of(first: u32, stride: u32) -> u32 {
    var best = first;
    for (var i = 1u; i < GROUP; i++) {
        let other = first + i * stride;
        if (wins(best_values[other], best_ids[other], best_values[best], best_ids[best])) {
            best = other;
        }
    }
    return best;
}

// Where the workgroup's best lies; only thread 0's answer counts. Two rounds of sixteen: fewer barriers than halving,
// which is what a CPU adapter pays for.
fn best_thread(thread: u32, value: f32, id: i32) -> u32 {
    best_values[thread] = value;
    best_ids[thread] = id;
    workgroupBarrier();
    if (thread < GROUP) {
        let best = best_of(thread * GROUP, 1u);
        best_values[thread * GROUP] = best_values[best];
        best_ids[thread * GROUP] = best_ids[best];
    }
    workgroupBarrier();
    return best_of(0u, GROUP);
}
