// with: everyone power banned
// A workgroup takes STEPS * 256 consecutive logits: their largest, and the sum of exp(logit - largest).
// Reference: webxpu/ops/logprobs.py. logits (V,), sums (workgroups, 2).

override STEPS: u32;

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let group = wid.x + wid.y * num.x;
    let first = group * STEPS * 256u + thread;
    let vocab = arrayLength(&logits);
    var most = FORBIDDEN;
    for (var step = 0u; step < STEPS; step++) {
        most = max(most, logits[min(first + step * 256u, vocab - 1u)]); // the last one once more changes nothing
    }
    let largest = max_of_everyone(thread, most);
    var sum = 0.0;
    for (var step = 0u; step < STEPS; step++) {
        let i = first + step * 256u;
        if (i < vocab) {
            sum += power(logits[i] - largest);
        }
    }
    let all = sum_of_everyone(thread, vec4<f32>(sum, 0.0, 0.0, 0.0)).x;
    if (thread == 0u && group * 2u < arrayLength(&sums)) {
        sums[group * 2u] = largest;
        sums[group * 2u + 1u] = all;
    }
}
