// with: sincos flat_map
// A workgroup computes 1,024 elements.
// Reference: webxpu/ops/snake.py. x and out (N, C, L), alpha and beta (C,): for `snake` both are alpha; samples (N,), of
// which only the length is read, as L is what the lengths leave.

override EPS: f32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> alpha: array<f32>;
@group(0) @binding(2) var<storage, read> beta: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read> samples: array<u32>;

alias Value = f32;

fn value_at(i: u32) -> Value {
    let channels = arrayLength(&alpha);
    let length = arrayLength(&x) / (arrayLength(&samples) * channels);
    let channel = i / length % channels;
    let s = sin_cos(alpha[channel] * x[i]).x;
    return x[i] + s * s / (beta[channel] + EPS);
}
