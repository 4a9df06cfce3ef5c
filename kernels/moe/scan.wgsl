// A thread adds up one expert's counts: row b of before is how many pairs the blocks before b have, the last row how many
// there are in all.
// Reference: webxpu/ops/moe.py. counts (blocks, E), before (blocks + 1, E).

override E: u32;

@group(0) @binding(0) var<storage, read> counts: array<u32>;
@group(0) @binding(1) var<storage, read_write> before: array<u32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let e = (wid.x + wid.y * num.x) * 64u + local;
    if (e < E) {
        var sum = 0u;
        before[e] = 0u;
        for (var i = e; i + E < arrayLength(&before); i += E) {
            sum += counts[i];
            before[i + E] = sum;
        }
    }
}
