// with: conv
// A convolution's windows: output o reads x from `o * STRIDE - PADDING` on. weight (Cout, IN_CHANNELS, TAPS0, TAPS1,
// TAPS2).

override STRIDE0: u32;
override STRIDE1: u32;
override STRIDE2: u32;
override PADDING0: u32;
override PADDING1: u32;
override PADDING2: u32;

fn spot_at(frame: Frame, sample: u32, place: u32) -> Spot {
    let at = coordinates(place, OUT1, OUT2) * vec3<u32>(STRIDE0, STRIDE1, STRIDE2);
    let origin = vec3<i32>(at) - vec3<i32>(vec3<u32>(PADDING0, PADDING1, PADDING2));
    let kept = select(frame.positions, place, sample < arrayLength(&samples));
    return Spot(sample * GROUPS + frame.group, kept, origin, vec3<u32>(), vec3<u32>(TAPS0, TAPS1, TAPS2));
}

// Position `i` of tile `block`: tiles run on from sample to sample.
fn spot_in_block(frame: Frame, block: u32, i: u32) -> Spot {
    let column = block * 64u + i;
    return spot_at(frame, column / frame.positions, column % frame.positions);
}

fn weight_at(frame: Frame, spot: Spot, channel: u32, term: Term) -> f32 {
    let row = frame.group * OUT_CHANNELS + channel;
    return weight[row * (IN_CHANNELS * TAPS0 * TAPS1 * TAPS2) + term.k];
}
