// with: state philox radix best
// A workgroup adds noise to those of its logits that the filters left and keeps the best, for `advance` to choose from.
// Reference: webxpu/ops/sample.py. logits (V,), work: see kernels/_with/radix.wgsl, values and ids (workgroups,).

@group(0) @binding(2) var<storage, read_write> values: array<f32>;
@group(0) @binding(3) var<storage, read_write> ids: array<i32>;
@group(0) @binding(4) var<uniform> state: State;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let group = wid.x + wid.y * num.x;
    var kept = atomicLoad(&work[KEPT]);
    if (uses_top_p()) {
        kept = max(kept, pick(7u, thread).prefix);
    }
    let largest = largest_logit();
    var value = -0x1.fffffep127f;
    var id = i32(group * STEPS * BINS);
    for (var step = 0u; step < STEPS; step++) {
        let i = (group * STEPS + step) * BINS + thread;
        if (i < arrayLength(&logits)) {
            var score = logits[i];
            var stays = true;
            if (state.temperature > 0.0) {
                let scaled = (score - largest) / state.temperature;
                stays = order_bits(score) >= kept && exp(scaled) >= state.min_p;
                let word = philox(vec4<u32>(i, state.step, 0u, 0u), vec2<u32>(state.seed_lo, state.seed_hi)).x;
                score = scaled + gumbel(word);
            }
            if (stays && score > value) {
                value = score;
                id = i32(i);
            }
        }
    }
    let best = best_thread(thread, value, id);
    if (thread == 0u && group < arrayLength(&values)) {
        values[group] = best_values[best];
        ids[group] = best_ids[best];
    }
}
