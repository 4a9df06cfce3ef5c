// with: conv
// A transposed convolution, gathered: full position f = o + PADDING receives x[l] by kernel element k where
// l * STRIDE + k * DILATION = f. Along an axis the positions of one phase, f % STRIDE, meet the same elements of the
// kernel: every PERIOD-th, PERIOD = STRIDE / g with g = gcd(STRIDE, DILATION), and none where g does not divide the
// phase. From one to the next l falls by DILATION / g, which is -STEP. INVERSE is that of DILATION / g modulo PERIOD.
// A tile holds positions of one phase, so that no product with a gap between samples is computed.
// weight (Cin, OUT_CHANNELS, KERNEL0, KERNEL1, KERNEL2).

override KERNEL0: u32;
override KERNEL1: u32;
override KERNEL2: u32;
override STRIDE0: u32;
override STRIDE1: u32;
override STRIDE2: u32;
override PADDING0: u32;
override PADDING1: u32;
override PADDING2: u32;
override PERIOD0: u32;
override PERIOD1: u32;
override PERIOD2: u32;
override INVERSE0: u32;
override INVERSE1: u32;
override INVERSE2: u32;

fn spot_of(frame: Frame, sample: u32, at: vec3<u32>) -> Spot {
    let stride = vec3<u32>(STRIDE0, STRIDE1, STRIDE2);
    let period = vec3<u32>(PERIOD0, PERIOD1, PERIOD2);
    let full = at + vec3<u32>(PADDING0, PADDING1, PADDING2);
    let shared_factor = stride / period;
    let phase = full % stride;
    let skipped = phase / shared_factor * vec3<u32>(INVERSE0, INVERSE1, INVERSE2) % period;
    // DILATION is -STEP * g.
    let dilation = -vec3<i32>(STEP0, STEP1, STEP2) * vec3<i32>(shared_factor);
    let origin = (vec3<i32>(full) - vec3<i32>(skipped) * dilation) / vec3<i32>(stride);
    let kernel = vec3<u32>(KERNEL0, KERNEL1, KERNEL2);
    let taps = (max(kernel, skipped) - skipped + period - 1u) / period;
    let met = select(vec3<u32>(), taps, phase % shared_factor == vec3<u32>());
    let kept = sample < arrayLength(&samples) && all(at < frame.out_size);
    let place = select(frame.positions, (at.x * OUT1 + at.y) * OUT2 + at.z, kept);
    return Spot(sample * GROUPS + frame.group, place, origin, skipped, met);
}

fn spot_at(frame: Frame, sample: u32, place: u32) -> Spot {
    return spot_of(frame, sample, coordinates(place, OUT1, OUT2));
}

// Position `i` of tile `block`: the tiles of one phase follow each other, and run on from sample to sample.
fn spot_in_block(frame: Frame, block: u32, i: u32) -> Spot {
    let stride = vec3<u32>(STRIDE0, STRIDE1, STRIDE2);
    let counts = (frame.out_size + stride - 1u) / stride; // positions of the longest phase
    let count = counts.x * counts.y * counts.z;
    let blocks = (arrayLength(&samples) * count + 63u) / 64u;
    let phase = coordinates(block / blocks, STRIDE1, STRIDE2);
    let column = block % blocks * 64u + i;
    let at = coordinates(column % count, counts.y, counts.z) * stride + phase;
    // Past the last phase nothing is stored.
    return spot_of(frame, select(arrayLength(&samples), column / count, phase.x < STRIDE0), at);
}

fn weight_at(frame: Frame, spot: Spot, channel: u32, term: Term) -> f32 {
    let at = spot.skipped + term.tap * vec3<u32>(PERIOD0, PERIOD1, PERIOD2);
    let row = (frame.group * IN_CHANNELS + term.channel) * OUT_CHANNELS + channel;
    let i = ((row * KERNEL0 + at.x) * KERNEL1 + at.y) * KERNEL2 + at.z;
    return select(0.0, weight[i], all(at < vec3<u32>(KERNEL0, KERNEL1, KERNEL2)));
}
