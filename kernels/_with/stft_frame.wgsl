// with: fft stft_signal
// One frame of an stft by the lanes that share the memory of `fft`.

fn frames() -> u32 {
    return arrayLength(&real) / (N / 2u + 1u);
}

fn transform_frame(frame: u32, lane: u32, lanes: u32) {
    for (var j = lane; j < SIZE; j += lanes) {
        var value = vec2<f32>();
        if (j < POINTS) {
            if (N == POINTS) {
                value = prepared(j, vec2<f32>(sample(frame, j), 0.0));
            } else { // a real signal of even length is half as many complex values
                value = prepared(j, vec2<f32>(sample(frame, 2u * j), sample(frame, 2u * j + 1u)));
            }
        }
        work_put(j, value);
    }
    let here = transform(lane, lanes);
    for (var k = lane; k <= N / 2u; k += lanes) {
        var value = transformed(here, k % POINTS);
        if (N != POINTS) { // the transforms of the even and of the odd samples, taken apart
            let mirror = conjugate(transformed(here, (POINTS - k) % POINTS));
            let odd = product(value - mirror, conjugate(turns[k]));
            value = 0.5 * (value + mirror + vec2<f32>(odd.y, -odd.x));
        }
        real[frame * (N / 2u + 1u) + k] = value.x;
        imag[frame * (N / 2u + 1u) + k] = value.y;
    }
    meet(); // all have read before the next frame is put
}
