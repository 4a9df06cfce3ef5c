// with: flat
// A workgroup divides 1,024 gates by the sum of their token's.
// Reference: webxpu/ops/moe.py. raw (T, K), gate (T, K).

override K: u32;

@group(0) @binding(0) var<storage, read> raw: array<f32>;
@group(0) @binding(1) var<storage, read_write> gate: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&gate)) {
            var sum = 0.0;
            for (var rank = 0u; rank < K; rank++) {
                sum += raw[i / K * K + rank];
            }
            gate[i] = raw[i] / sum;
        }
    }
}
