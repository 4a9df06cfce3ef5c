// with: flat sincos
// A workgroup computes 1,024 elements of one sample. The grid's z is the number of samples: with the length of `out` it
// says where a channel ends.
// Reference: webxpu/ops/snake.py. x and out (N, C, L), alpha and beta (C,): for `snake` both are alpha.

override EPS: f32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> alpha: array<f32>;
@group(0) @binding(2) var<storage, read> beta: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let elements = arrayLength(&out) / num.z;
    let length = elements / arrayLength(&alpha);
    let first = wid.z * elements;
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < elements) {
            let channel = i / length;
            let value = x[first + i];
            let s = sin_cos(alpha[channel] * value).x;
            out[first + i] = value + s * s / (beta[channel] + EPS);
        }
    }
}
