// with: flat grouped normed
// A workgroup computes 1,024 elements, of groups whose moments are known.
// Reference: webxpu/ops/group_norm.py. x (N, C, L), weight (C,), bias (C,), known (groups,), out (N, C, L).

@group(0) @binding(0) var<storage, read> x: array<Real>;
@group(0) @binding(1) var<storage, read> weight: array<Real>;
@group(0) @binding(2) var<storage, read> bias: array<Real>;
@group(0) @binding(3) var<storage, read> known: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> out: array<Real>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let length = channel_length();
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&out)) {
            let group = known[i / (PER * length)];
            let channel = i / length % C;
            out[i] = normed(Moments(group.x, group.y, group.z), x[i], weight[channel], bias[channel]);
        }
    }
}
