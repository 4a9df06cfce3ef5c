// Keys of the cache, turned where they lie unroped. The kernel declares TURN, WIDE (D / 4) and table (P, D / 2) of cosine
// and sine, two pairs in a vec4, and what `kv` needs.

override TURN: u32; // 0: keys lie turned; 1: pairs lie side by side; 2: D / 2 apart, D a multiple of 8

// Quad c of the key of a position, which lies in `row`.
fn key_quad(row: u32, position: u32, c: u32) -> vec4<f32> {
    let own = kv_quad(row, c);
    if (TURN == 0u) {
        return own;
    }
    let turns = min(position, arrayLength(&table) / WIDE - 1u) * WIDE;
    if (TURN == 1u) {
        let t = table[turns + c];
        return vec4<f32>(
            own.x * t.x - own.y * t.y,
            own.x * t.y + own.y * t.x,
            own.z * t.z - own.w * t.w,
            own.z * t.w + own.w * t.z,
        );
    }
    let half = WIDE / 2u;
    let low = table[turns + 2u * (c % half)];
    let high = table[turns + 2u * (c % half) + 1u];
    let cosines = vec4<f32>(low.xz, high.xz);
    let sines = vec4<f32>(low.yw, high.yw);
    let other = kv_quad(row, (c + half) % WIDE);
    return own * cosines + select(other, -other, c < half) * sines;
}
