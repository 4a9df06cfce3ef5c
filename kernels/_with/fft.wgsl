// The discrete Fourier transform of SIZE complex values by Stockham's mixed radix, and with it that of POINTS values: by
// itself where SIZE is POINTS, else as a convolution with a chirp (Bluestein), for which SIZE >= 2 POINTS - 1.
//
// A part named before this one gives the memory for 2 SIZE values: `work_get(i)`, `work_put(i, value)`, and `meet()`,
// behind which each of `lanes` lanes sees what the others put. The kernel declares `turns`, which kernels/stft/turns.wgsl
// writes: (cos, sin) of i / N of a turn for N entries, and for a chirp also i / SIZE for SIZE entries, POINTS entries of
// the chirp, SIZE entries of its spectrum.

override N: u32; // the length of the real signal: POINTS or 2 POINTS
override POINTS: u32;
override SIZE: u32;

fn product(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

fn conjugate(a: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(a.x, -a.y);
}

// exp(-2 pi i m / SIZE), m < SIZE
fn root_of_unity(m: u32) -> vec2<f32> {
    return conjugate(turns[select(m * (N / POINTS), N + m, SIZE != POINTS)]);
}

// exp(-pi i j^2 / POINTS), j < POINTS
fn chirp(j: u32) -> vec2<f32> {
    return turns[N + SIZE + j];
}

fn next_radix(rest: u32) -> u32 {
    if (rest % 4u == 0u) {
        return 4u;
    }
    var radix = 2u;
    while (rest % radix != 0u) {
        radix++;
    }
    return radix;
}

// Transforms the SIZE values at `start`, 0 or SIZE; the answer is where the result starts.
fn transform_size(start: u32, lane: u32, lanes: u32) -> u32 {
    var here = start;
    var done = 1u; // the product of the radices so far
    while (done < SIZE) {
        let radix = next_radix(SIZE / done);
        let there = SIZE - here;
        let apart = SIZE / radix;
        let unit = apart / done; // 1 / (radix done) of a turn
        if (radix == 4u) {
            for (var i = lane; i < apart; i += lanes) {
                let k = i % done;
                let a = work_get(here + i);
                let b = product(work_get(here + i + apart), root_of_unity(k * unit));
                let c = product(work_get(here + i + 2u * apart), root_of_unity(2u * k * unit));
                let d = product(work_get(here + i + 3u * apart), root_of_unity(3u * k * unit));
                let even = a - c;
                let odd = vec2<f32>(b.y - d.y, d.x - b.x); // -i (b - d)
                let at = there + (i - k) * 4u + k;
                work_put(at, a + c + b + d);
                work_put(at + done, even + odd);
                work_put(at + 2u * done, a + c - b - d);
                work_put(at + 3u * done, even - odd);
            }
        } else {
            // A lane sums one output: of a radix that is rare, so one loop for all of them.
            for (var i = lane; i < SIZE; i += lanes) {
                let k = i % (done * radix);
                let source = here + i / (done * radix) * done + k % done;
                var sum = work_get(source);
                var angle = 0u;
                for (var j = 1u; j < radix; j++) {
                    angle += k * unit;
                    angle -= select(0u, SIZE, angle >= SIZE);
                    sum += product(work_get(source + j * apart), root_of_unity(angle));
                }
                work_put(there + i, sum);
            }
        }
        meet();
        here = there;
        done *= radix;
    }
    return here;
}

// What the kernel puts for value j < POINTS before `transform`. For a chirp it then puts zeros up to SIZE.
fn prepared(j: u32, value: vec2<f32>) -> vec2<f32> {
    if (SIZE == POINTS) {
        return value;
    }
    return product(value, chirp(j));
}

// Transforms the values that were put at 0 .. SIZE; `transformed` reads the result.
fn transform(lane: u32, lanes: u32) -> u32 {
    meet();
    var here = transform_size(0u, lane, lanes);
    if (SIZE != POINTS) {
        for (var i = lane; i < SIZE; i += lanes) {
            let filtered = product(work_get(here + i), turns[N + SIZE + POINTS + i]);
            work_put(here + i, conjugate(filtered)); // the inverse transform, by conjugates
        }
        meet();
        here = transform_size(here, lane, lanes);
    }
    return here;
}

fn transformed(here: u32, k: u32) -> vec2<f32> {
    if (SIZE == POINTS) {
        return work_get(here + k);
    }
    return product(conjugate(work_get(here + k)), chirp(k)) / f32(SIZE);
}
