// with: state philox radix
// A workgroup weighs digit LEVEL of the logits that top-k and top-n-sigma left, for top-p; LEVEL 0 first finds what they
// left.
// Reference: webxpu/ops/sample.py. logits (V,), work: see kernels/_with/radix.wgsl.

override LEVEL: u32;

@group(0) @binding(2) var<uniform> state: State;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let group = wid.x + wid.y * num.x;
    var kept = atomicLoad(&work[KEPT]); // at LEVEL 0 and where both are off it is 0
    if (LEVEL == 0u) {
        kept = 0u; // another workgroup may have stored it already
        if (uses_top_k()) {
            kept = pick(3u, thread).prefix;
        }
        if (uses_top_n_sigma()) {
            kept = max(kept, lowest_in_sigma(thread));
        }
        if (group == 0u && thread == 0u) {
            atomicStore(&work[KEPT], kept);
        }
    }
    if (!uses_top_p()) {
        return;
    }
    var prefix = 0u;
    if (LEVEL > 0u) {
        prefix = pick_for(4u + LEVEL, group, thread).prefix;
    }
    let largest = largest_logit();
    for (var step = 0u; step < STEPS; step++) {
        let i = (group * STEPS + step) * BINS + thread;
        if (i < arrayLength(&logits)) {
            let bits = order_bits(logits[i]);
            if (bits >= kept && has_prefix(bits, prefix, LEVEL)) {
                tally(bits, LEVEL, u32(exp((logits[i] - largest) / state.temperature) * 2147483648.0));
            }
        }
    }
    flush(4u + LEVEL, thread);
}
