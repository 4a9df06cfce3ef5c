// One thread picks the best of 64 logits of a row, the lowest id on ties: the second stage after kernel.wgsl.
// Reference: webxpu/ops/norm_head.py, norm_head_argmax. logits (L, V), values and ids (L, ceil(V / 64)).

override N: u32;

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read_write> values: array<f32>;
@group(0) @binding(2) var<storage, read_write> ids: array<i32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let candidate = (wid.x + wid.y * num.x) * 64u + local;
    if (candidate >= arrayLength(&values)) {
        return;
    }
    let row = candidate / ((N + 63u) / 64u);
    let first = candidate % ((N + 63u) / 64u) * 64u;
    var best = first;
    for (var id = first + 1u; id < min(first + 64u, N); id++) {
        if (logits[row * N + id] > logits[row * N + best]) {
            best = id;
        }
    }
    values[candidate] = logits[row * N + best];
    ids[candidate] = i32(best);
}
