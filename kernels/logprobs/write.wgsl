// with: everyone power ln state banned
// One workgroup adds the sums up and writes the entry of the token that the step chose.
// Reference: webxpu/ops/logprobs.py. logits (V,), sums (workgroups, 2), high_values and high_ids (MOST,), history (C,),
// ring (C, 1 + 2 MOST).

override MOST: u32;

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> sums: array<f32>;
@group(0) @binding(2) var<storage, read> high_values: array<f32>;
@group(0) @binding(3) var<storage, read> high_ids: array<u32>;
@group(0) @binding(4) var<storage, read> history: array<i32>;
@group(0) @binding(5) var<storage, read_write> ring: array<f32>;
@group(0) @binding(6) var<uniform> state: State;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) thread: u32) {
    let groups = arrayLength(&sums) / 2u;
    var most = FORBIDDEN;
    for (var i = thread; i < groups; i += 256u) {
        most = max(most, sums[i * 2u]);
    }
    let largest = max_of_everyone(thread, most);
    var sum = 0.0;
    for (var i = thread; i < groups; i += 256u) {
        sum += sums[i * 2u + 1u] * power(sums[i * 2u] - largest);
    }
    let log_sum = ln(sum_of_everyone(thread, vec4<f32>(sum, 0.0, 0.0, 0.0)).x);
    if (state.done != 0u) {
        return;
    }
    let place = (state.evicted + state.position) % arrayLength(&history);
    let entry = place * (1u + 2u * MOST);
    let chosen = u32(history[place]);
    if (thread == 0u && chosen < arrayLength(&logits)) {
        ring[entry] = logits[chosen] - largest - log_sum;
    }
    if (thread < MOST) {
        ring[entry + 1u + 2u * thread] = f32(high_ids[thread]);
        ring[entry + 2u + 2u * thread] = high_values[thread] - largest - log_sum;
    }
}
