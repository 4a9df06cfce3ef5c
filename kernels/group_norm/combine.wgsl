// with: real_f32 normed
// A thread makes one group's moments from those of its shares. Reference: webxpu/ops/group_norm.py.
// found (groups, PARTS) of count, origin, mean less the origin, and sum of squares about the mean; known (groups,) of
// origin, mean less it, and scale.

override PARTS: u32;

@group(0) @binding(0) var<storage, read> found: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> known: array<vec4<f32>>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let group = (wid.x + wid.y * num.x) * 64u + local;
    if (group >= arrayLength(&known)) {
        return;
    }
    var count = 0.0;
    var sum = 0.0;
    for (var i = group * PARTS; i < group * PARTS + PARTS; i++) {
        count += found[i].x;
        sum += found[i].x * found[i].z;
    }
    let middle = sum / count;
    var squares = 0.0;
    for (var i = group * PARTS; i < group * PARTS + PARTS; i++) {
        let deviation = found[i].z - middle;
        squares += found[i].w + found[i].x * deviation * deviation;
    }
    known[group] = vec4<f32>(found[group * PARTS].y, middle, scale_of(squares, count), 0.0);
}
