// A thread computes one position of four consecutive channels of a group, from x and weight as they lie in memory.
// `conv_window` or `conv_phase` stands before.

fn weight_quad(frame: Frame, spot: Spot, channel: u32, term: Term) -> vec4<f32> {
    if (OUT_CHANNELS == 1u) {
        return vec4<f32>(weight_at(frame, spot, 0u, term), 0.0, 0.0, 0.0);
    }
    // Channels past the end repeat the last one: their results are not stored.
    let channels = min(vec4<u32>(channel) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(OUT_CHANNELS - 1u));
    return vec4<f32>(
        weight_at(frame, spot, channels.x, term),
        weight_at(frame, spot, channels.y, term),
        weight_at(frame, spot, channels.z, term),
        weight_at(frame, spot, channels.w, term),
    );
}

fn compute_direct(wid: vec3<u32>, num: vec3<u32>, local: u32) {
    let thread = (wid.x + wid.y * num.x) * 64u + local;
    let positions = out_positions();
    let quads = (OUT_CHANNELS + 3u) / 4u;
    let line = thread / positions;
    let sample = line / (GROUPS * quads);
    if (sample >= arrayLength(&samples)) {
        return;
    }
    let frame = frame_of(line / quads % GROUPS);
    let spot = spot_at(frame, sample, thread % positions);
    let channel = line % quads * 4u;
    var sums = vec4<f32>();
    for (var c = 0u; c < IN_CHANNELS; c++) {
        for (var t0 = 0u; t0 < spot.taps.x; t0++) {
            for (var t1 = 0u; t1 < spot.taps.y; t1++) {
                for (var t2 = 0u; t2 < spot.taps.z; t2++) {
                    let k = ((c * TAPS0 + t0) * TAPS1 + t1) * TAPS2 + t2;
                    let term = Term(k, c, vec3<u32>(t0, t1, t2));
                    sums += x_at(frame, spot, term) * weight_quad(frame, spot, channel, term);
                }
            }
        }
    }
    for (var i = 0u; i < 4u; i++) {
        store(frame, spot, channel + i, sums[i]);
    }
}
