// A framed signal x (L,) that is reflected at its ends without repeating the last sample, and window (N,); real and imag
// (frames, N / 2 + 1). The frames are those from FIRST.

override HOP: u32;
override PAD: u32; // samples that stand before x
override FIRST: u32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> window: array<f32>;
@group(0) @binding(2) var<storage, read> turns: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> real: array<f32>;
@group(0) @binding(4) var<storage, read_write> imag: array<f32>;

fn sample(frame: u32, i: u32) -> f32 {
    let last = i32(arrayLength(&x)) - 1;
    let at = abs(i32((FIRST + frame) * HOP + i) - i32(PAD));
    return x[last - abs(last - at)] * window[i];
}
