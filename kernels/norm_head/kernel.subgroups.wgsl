// with: weights norm few_rows state head
enable subgroups;
requires subgroup_id;
// A workgroup computes 64 logits of a row, a subgroup four of them at a time.
// Reference: webxpu/ops/norm_head.py. weights (V, K), x (L, K), gain (K,), out (V,) or (L, V).

override N: u32;
override K: u32;
override THREADS: u32;

@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<uniform> state: State;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
) {
    let rows = arrayLength(&out) / N;
    let place = row_of(wid.x + wid.y * num.x, rows);
    let x_row = head_row(place.x, rows);
    for (var offset = 0u; offset < 64u; offset += 4u * subgroups) {
        let column = place.y * 64u + offset + 4u * subgroup;
        let four = four_columns(x_row, column, lane, lanes);
        let logits = subgroupAdd(four.sums) * root(subgroupAdd(four.squares));
        if (lane < 4u && column + lane < N) {
            out[place.x * N + column + lane] = logits[lane];
        }
    }
}
