// One thread picks the best of 64 logits, the lowest id on ties: the second stage after kernel.wgsl.
// Reference: webxpu/ops/norm_head.py, norm_head_argmax. logits (V,), values and ids (ceil(V / 64),).

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
    var best = candidate * 64u;
    for (var id = best + 1u; id < min(candidate * 64u + 64u, arrayLength(&logits)); id++) {
        if (logits[id] > logits[best]) {
            best = id;
        }
    }
    values[candidate] = logits[best];
    ids[candidate] = i32(best);
}
