// Rows of values and of outputs: v (HEADS, S, DV), out (HEADS, M, DV), which the kernel declares.

override DV: u32;

// Four values of a key; columns past DV repeat the last: their sums are not stored.
fn v_quad(row: u32, column: u32) -> vec4<f32> {
    let at = row * DV + min(vec4<u32>(column) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(DV - 1u));
    return vec4<f32>(f32(v[at.x]), f32(v[at.y]), f32(v[at.z]), f32(v[at.w]));
}

// Stores what of four columns lies within the row.
fn store_quad(row: u32, column: u32, values: vec4<f32>) {
    for (var i = 0u; i < 4u && column + i < DV; i++) {
        out[row * DV + column + i] = Real(values[i]);
    }
}
