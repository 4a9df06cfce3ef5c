// A workgroup of 4 * ROWS threads computes a tile of ROWS channels of a group x 64 positions, 4 x 4 a thread: a matrix
// product of weights and of what the positions see of x, which is gathered 32 terms at a time. A thread writes whole
// vec4s of a tile: two that write parts of one would race. The quads of a row of weights are swapped about (`swizzled`)
// so that eight rows' lie in different banks.
// `conv_window` or `conv_phase` stands before.

override ROWS: u32;

var<workgroup> weight_tile: array<vec4<f32>, ROWS * 8u>; // a channel's 8 quads of terms
var<workgroup> x_tile: array<vec4<f32>, 512>; // a term's 16 quads of positions

fn swizzled(row: u32, quad: u32) -> u32 {
    return row * 8u + (quad ^ (row % 8u));
}

fn compute_tile(wid: vec3<u32>, num: vec3<u32>, local: u32) {
    let terms = IN_CHANNELS * TAPS0 * TAPS1 * TAPS2;
    let line = wid.x + wid.y * num.x;
    let heights = (OUT_CHANNELS + ROWS - 1u) / ROWS;
    let first_channel = line % heights * ROWS;
    let frame = frame_of(line / heights % GROUPS);
    let block = line / heights / GROUPS;
    let ty = local / 16u;
    let tx = local % 16u;
    // The four positions that this thread loads and those that it computes are the same.
    let spot0 = spot_in_block(frame, block, tx * 4u);
    let spot1 = spot_in_block(frame, block, tx * 4u + 1u);
    let spot2 = spot_in_block(frame, block, tx * 4u + 2u);
    let spot3 = spot_in_block(frame, block, tx * 4u + 3u);
    // Channels past the end repeat the last one: their results are not stored.
    let loaded = min(first_channel + local / 4u, OUT_CHANNELS - 1u);

    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var base = 0u; base < terms; base += 32u) {
        workgroupBarrier(); // the tiles before have been used
        for (var quad = local % 4u; quad < 8u; quad += 4u) {
            var quartet = vec4<f32>();
            for (var i = 0u; i < 4u; i++) {
                let k = base + quad * 4u + i;
                let value = weight_at(frame, spot0, loaded, term_of(min(k, terms - 1u)));
                quartet[i] = select(0.0, value, k < terms);
            }
            weight_tile[swizzled(local / 4u, quad)] = quartet;
        }
        for (var i = local; i < 512u; i += 4u * ROWS) {
            let k = base + i / 16u;
            let term = term_of(k);
            var quartet = vec4<f32>();
            if (k < terms && all(term.tap < spot0.taps)) {
                quartet = vec4<f32>(
                    x_at(frame, spot0, term),
                    x_at(frame, spot1, term),
                    x_at(frame, spot2, term),
                    x_at(frame, spot3, term),
                );
            }
            x_tile[i] = quartet;
        }
        workgroupBarrier();
        for (var quad = 0u; quad < 8u; quad++) {
            let left0 = weight_tile[swizzled(ty * 4u, quad)];
            let left1 = weight_tile[swizzled(ty * 4u + 1u, quad)];
            let left2 = weight_tile[swizzled(ty * 4u + 2u, quad)];
            let left3 = weight_tile[swizzled(ty * 4u + 3u, quad)];
            for (var k = 0u; k < 4u; k++) {
                let right = x_tile[(quad * 4u + k) * 16u + tx];
                sum0 += left0[k] * right;
                sum1 += left1[k] * right;
                sum2 += left2[k] * right;
                sum3 += left3[k] * right;
            }
        }
    }
    let sums = array<vec4<f32>, 4>(sum0, sum1, sum2, sum3);
    for (var i = 0u; i < 4u; i++) {
        let channel = first_channel + ty * 4u + i;
        store(frame, spot0, channel, sums[i].x);
        store(frame, spot1, channel, sums[i].y);
        store(frame, spot2, channel, sums[i].z);
        store(frame, spot3, channel, sums[i].w);
    }
}
