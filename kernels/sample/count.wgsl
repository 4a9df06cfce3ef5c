// with: state philox radix
// A workgroup counts digit LEVEL of its logits for top-k, at LEVEL 0 finds the largest, and at LEVEL 1 takes their moments
// about it for top-n-sigma.
// Reference: webxpu/ops/sample.py. logits (V,), work: see kernels/_with/radix.wgsl.

override LEVEL: u32;

@group(0) @binding(2) var<uniform> state: State;

var<workgroup> largest: atomic<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let group = wid.x + wid.y * num.x;
    let first = group * BINS * STEPS + thread;
    if (LEVEL == 0u) {
        var most = 0u;
        for (var step = 0u; step < STEPS; step++) {
            let i = first + step * BINS;
            most = max(most, select(0u, order_bits(logits[i]), i < arrayLength(&logits)));
        }
        atomicMax(&largest, most);
        workgroupBarrier();
        if (thread == 0u) {
            atomicMax(&work[LARGEST], atomicLoad(&largest));
        }
    }
    if (LEVEL == 1u && uses_top_n_sigma()) {
        keep_moments(group, thread);
    }
    if (!uses_top_k()) {
        return;
    }
    var prefix = 0u;
    if (LEVEL > 0u) {
        prefix = pick_for(LEVEL, group, thread).prefix;
    }
    for (var step = 0u; step < STEPS; step++) {
        let i = first + step * BINS;
        if (i < arrayLength(&logits)) {
            let bits = order_bits(logits[i]);
            if (has_prefix(bits, prefix, LEVEL)) {
                tally(bits, LEVEL, 1u);
            }
        }
    }
    flush(LEVEL, thread);
}
