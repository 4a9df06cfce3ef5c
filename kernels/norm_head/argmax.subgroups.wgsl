// with: weights norm few_rows state head store_best
enable subgroups;
requires subgroup_id;
// A workgroup computes 64 logits of a row, a subgroup four of them at a time, and keeps the best, the lowest id on ties.
// Reference: webxpu/ops/norm_head.py, norm_head_argmax. weights (V, K), x (L, K), gain (K,), values and ids
// (ceil(V / 64),) or (L, ceil(V / 64)).

override N: u32;
override K: u32;
override THREADS: u32;

@group(0) @binding(3) var<storage, read_write> values: array<f32>;
@group(0) @binding(4) var<storage, read_write> ids: array<i32>;
@group(0) @binding(5) var<uniform> state: State;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
) {
    let candidates = (N + 63u) / 64u;
    let rows = arrayLength(&values) / candidates;
    let place = row_of(min(wid.x + wid.y * num.x, arrayLength(&values) - 1u), rows);
    let x_row = head_row(place.x, rows);
    var best = -0x1.fffffep127f;
    var id = place.y * 64u;
    for (var offset = 0u; offset < 64u; offset += 4u * subgroups) {
        // Subgroups past the workgroup's 64 rows repeat its last four, rows past N repeat the last: equal ones of a higher
        // id do not win.
        let column = place.y * 64u + min(offset + 4u * subgroup, 60u);
        let four = four_columns(x_row, column, lane, lanes);
        let logits = subgroupAdd(four.sums) * root(subgroupAdd(four.squares));
        for (var i = 0u; i < 4u; i++) {
            if (logits[i] > best) {
                best = logits[i];
                id = column + i;
            }
        }
    }
    store_best(place.x * candidates + place.y, best, id, subgroup, subgroups, lane);
}
