// A subgroup finds the best class of a frame, of equals the lowest; a workgroup of 128 takes as many frames as it has
// subgroups.
// Reference: webxpu/ops/ctc_decode.py. scores (frames, C), path (frames,).
enable subgroups;
requires subgroup_id;

override C: u32;

@group(0) @binding(0) var<storage, read> scores: array<f32>;
@group(0) @binding(1) var<storage, read_write> path: array<i32>;

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_size) size: u32,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    // Past the end the last frame is decided again, and the last class looked at again, with its own index.
    let frame = min((wid.x + wid.y * num.x) * subgroups + subgroup, arrayLength(&path) - 1u);
    var token = min(lane, C - 1u);
    var score = scores[frame * C + token];
    for (var i = lane + size; i < C; i += size) {
        if (scores[frame * C + i] > score) {
            score = scores[frame * C + i];
            token = i;
        }
    }
    let best = subgroupMax(score);
    let lowest = subgroupMin(select(C - 1u, token, score == best)); // no NaN equals: the class stays in range
    if (lane == 0u) {
        path[frame] = i32(lowest);
    }
}
