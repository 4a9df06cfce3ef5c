// with: fft istft_spectrum
// The inverse transform of one frame, by conjugates, by the lanes that share the memory of `fft`.

fn frames() -> u32 {
    return arrayLength(&signal) / N;
}

// Value k of the complex transform, conjugated.
fn folded(frame: u32, k: u32) -> vec2<f32> {
    if (N == POINTS) {
        if (k <= N / 2u) {
            return conjugate(bin(frame, k));
        }
        return bin(frame, N - k);
    }
    let value = bin(frame, k);
    let mirror = conjugate(bin(frame, POINTS - k));
    let odd = product(value - mirror, turns[k]);
    return 0.5 * conjugate(value + mirror + vec2<f32>(-odd.y, odd.x));
}

fn transform_frame(frame: u32, lane: u32, lanes: u32) {
    for (var j = lane; j < SIZE; j += lanes) {
        if (j < POINTS) {
            work_put(j, prepared(j, folded(frame, j)));
        } else {
            work_put(j, vec2<f32>());
        }
    }
    let here = transform(lane, lanes);
    for (var j = lane; j < POINTS; j += lanes) {
        let value = conjugate(transformed(here, j)) / f32(POINTS);
        if (N == POINTS) {
            signal[frame * N + j] = value.x * window[j];
        } else {
            signal[frame * N + 2u * j] = value.x * window[2u * j];
            signal[frame * N + 2u * j + 1u] = value.y * window[2u * j + 1u];
        }
    }
    meet(); // all have read before the next frame is put
}
