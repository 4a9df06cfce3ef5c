// A thread collapses a path: a CPU adapter pays more for a barrier than for the frames.
// Reference: webxpu/ops/ctc_decode.py. path and tokens (B, T), lengths (B,).

override BLANK: i32;
override EMPTY: u32; // 1 where T is 0, which no bound array can say

@group(0) @binding(0) var<storage, read> path: array<i32>;
@group(0) @binding(1) var<storage, read_write> tokens: array<i32>;
@group(0) @binding(2) var<storage, read_write> lengths: array<i32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let batch = arrayLength(&lengths);
    let item = (wid.x + wid.y * num.x) * 64u + local;
    if (item >= batch) {
        return;
    }
    let length = select(arrayLength(&path) / batch, 0u, EMPTY == 1u);
    var count = 0u;
    var before = BLANK;
    for (var t = item * length; t < (item + 1u) * length; t++) {
        let token = path[t];
        if (token != BLANK && token != before) {
            tokens[item * length + count] = token;
            count++;
        }
        before = token;
    }
    for (var t = count; t < length; t++) {
        tokens[item * length + t] = -1;
    }
    lengths[item] = i32(count);
}
