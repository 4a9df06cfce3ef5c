// A workgroup of 256 collapses a path: each thread counts what its share of the frames keeps, and so knows where the
// shares after it begin.
// Reference: webxpu/ops/ctc_decode.py. path and tokens (B, T), lengths (B,).

override BLANK: i32;
override EMPTY: u32; // 1 where T is 0, which no bound array can say

@group(0) @binding(0) var<storage, read> path: array<i32>;
@group(0) @binding(1) var<storage, read_write> tokens: array<i32>;
@group(0) @binding(2) var<storage, read_write> lengths: array<i32>;

var<workgroup> counts: array<u32, 256>;

// Whether the frame says something that the frame before did not.
fn speaks(start: u32, t: u32) -> bool {
    let token = path[start + t];
    return token != BLANK && (t == 0u || token != path[start + max(t, 1u) - 1u]);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let batch = arrayLength(&lengths);
    let item = min(wid.x + wid.y * num.x, batch - 1u); // past the end the last path is collapsed again
    let length = select(arrayLength(&path) / batch, 0u, EMPTY == 1u);
    let start = item * length;
    let share = (length + 255u) / 256u;
    let end = min((local + 1u) * share, length);
    var count = 0u;
    for (var t = local * share; t < end; t++) {
        count += u32(speaks(start, t));
    }
    counts[local] = count;
    workgroupBarrier();
    var at = 0u;
    var total = 0u;
    for (var i = 0u; i < 256u; i++) {
        at += select(0u, counts[i], i < local);
        total += counts[i];
    }
    for (var t = local * share; t < end; t++) {
        if (speaks(start, t)) {
            tokens[start + at] = path[start + t];
            at++;
        }
    }
    for (var t = total + local; t < length; t += 256u) {
        tokens[start + t] = -1;
    }
    if (local == 0u) {
        lengths[item] = i32(total);
    }
}
