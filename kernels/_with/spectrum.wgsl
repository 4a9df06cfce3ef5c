// with: fft
// The spectrum of a chirp's conjugate, in the last 2 SIZE entries of the table of `fft`, which is also its memory. The
// kernel gives `meet()`.

@group(0) @binding(0) var<storage, read_write> turns: array<vec2<f32>>;

fn work_get(i: u32) -> vec2<f32> {
    return turns[N + SIZE + POINTS + i];
}

fn work_put(i: u32, value: vec2<f32>) {
    turns[N + SIZE + POINTS + i] = value;
}

fn write_spectrum(lane: u32, lanes: u32) {
    for (var i = lane; i < SIZE; i += lanes) {
        let j = min(i, SIZE - i); // the chirp is even, and it wraps around; what stands between meets only zeros
        work_put(i, conjugate(chirp(min(j, POINTS - 1u))));
    }
    meet();
    let here = transform_size(0u, lane, lanes);
    for (var i = lane; i < SIZE; i += lanes) {
        work_put(i, work_get(here + i));
    }
}
