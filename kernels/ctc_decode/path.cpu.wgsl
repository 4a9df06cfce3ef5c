// A thread finds the best class of a frame; of equals the lowest.
// Reference: webxpu/ops/ctc_decode.py. scores (frames, C), path (frames,).

override C: u32;

@group(0) @binding(0) var<storage, read> scores: array<f32>;
@group(0) @binding(1) var<storage, read_write> path: array<i32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let frame = min((wid.x + wid.y * num.x) * 64u + local, arrayLength(&path) - 1u);
    var token = 0u;
    for (var i = 1u; i < C; i++) {
        if (scores[frame * C + i] > scores[frame * C + token]) {
            token = i;
        }
    }
    path[frame] = i32(token);
}
