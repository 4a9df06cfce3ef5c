// Frames of a spectrum: real and imag (frames, N / 2 + 1), window (N,), turns of N, signal (frames, N): the frames'
// inverse transforms times the window.

@group(0) @binding(0) var<storage, read> real: array<f32>;
@group(0) @binding(1) var<storage, read> imag: array<f32>;
@group(0) @binding(2) var<storage, read> window: array<f32>;
@group(0) @binding(3) var<storage, read> turns: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> signal: array<f32>;

// Bin k <= N / 2. The first and the middle one of a real signal are real: an imaginary part there is dropped.
fn bin(frame: u32, k: u32) -> vec2<f32> {
    let i = frame * (N / 2u + 1u) + k;
    return vec2<f32>(real[i], select(imag[i], 0.0, k == 0u || 2u * k == N));
}
