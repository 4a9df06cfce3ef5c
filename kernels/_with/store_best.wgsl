// The best of what a workgroup's subgroups found, the lowest id on ties. The kernel declares values and ids.

// One a subgroup.
var<workgroup> best_values: array<f32, 64>;
var<workgroup> best_ids: array<u32, 64>;

// Writes it as candidate `at`; each subgroup has found `best` and its `id`.
fn store_best(at: u32, best: f32, id: u32, subgroup: u32, subgroups: u32, lane: u32) {
    if (lane == 0u) {
        best_values[subgroup] = best;
        best_ids[subgroup] = id;
    }
    workgroupBarrier();
    if (subgroup == 0u && lane == 0u) {
        var value = best;
        var first = id;
        for (var other = 1u; other < subgroups; other++) {
            let wins = best_values[other] > value || (best_values[other] == value && best_ids[other] < first);
            value = select(value, best_values[other], wins);
            first = select(first, best_ids[other], wins);
        }
        values[at] = value;
        ids[at] = i32(first);
    }
}
