// with: best
// A workgroup of 256 finds the best class of a frame; of equals the lowest.
// Reference: webxpu/ops/ctc_decode.py. scores (frames, C), path (frames,).

override C: u32;

@group(0) @binding(0) var<storage, read> scores: array<f32>;
@group(0) @binding(1) var<storage, read_write> path: array<i32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    // Past the end the last frame is decided again, and the last class looked at again, with its own index.
    let frame = min(wid.x + wid.y * num.x, arrayLength(&path) - 1u);
    var token = min(local, C - 1u);
    var score = scores[frame * C + token];
    for (var i = local + 256u; i < C; i += 256u) {
        if (scores[frame * C + i] > score) {
            score = scores[frame * C + i];
            token = i;
        }
    }
    let best = best_thread(local, score, i32(token));
    if (local == 0u) {
        path[frame] = best_ids[best];
    }
}
