// with: flat sincos
// A workgroup computes 1,024 elements.
// Reference: webxpu/ops/snake.py. x and out (N, C, L), alpha and beta (C,): for `snake` both are alpha; samples (N,), of
// which only the length is read, as L is what the lengths leave.

override EPS: f32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> alpha: array<f32>;
@group(0) @binding(2) var<storage, read> beta: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read> samples: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let elements = arrayLength(&out);
    let channels = arrayLength(&alpha);
    let length = elements / (arrayLength(&samples) * channels);
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < elements) {
            let channel = i / length % channels;
            let value = x[i];
            let s = sin_cos(alpha[channel] * value).x;
            out[i] = value + s * s / (beta[channel] + EPS);
        }
    }
}
