// with: flat
// A workgroup copies 1,024 elements of the tokens to their seats; an empty seat is zeros. As gather, but the number of
// tokens is no constant.
// Reference: webxpu/ops/moe.py. x (T, D), tokens (seats,), buffer (seats, D).

override D: u32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> tokens: array<i32>;
@group(0) @binding(2) var<storage, read_write> buffer: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&buffer)) {
            let token = tokens[i / D];
            var value = 0.0;
            if (token >= 0) {
                value = x[u32(token) * D + i % D];
            }
            buffer[i] = value;
        }
    }
}
