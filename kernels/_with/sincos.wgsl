// Sine and cosine to 1e-7 for |x| up to a few thousand. WGSL promises only 2^-11, and devices differ by 1e-4 from each
// other. Reduction by pi/2 in three steps (Cody and Waite), then the minimax polynomials of the Cephes library.

fn sin_cos(x: f32) -> vec2<f32> {
    let k = floor(x * 0.6366197723675814 + 0.5);
    return sin_cos_quarters(((x - k * 1.5703125) - k * 4.8375129699707031e-4) - k * 7.54978994e-8, u32(i32(k)));
}

// Of r and so many quarter turns, for |r| up to an eighth of a turn.
fn sin_cos_quarters(r: f32, quarters: u32) -> vec2<f32> {
    let z = r * r;
    let s = r + r * z * (-1.6666654611e-1 + z * (8.3321608736e-3 + z * -1.9515295891e-4));
    let c = 1.0 - 0.5 * z + z * z * (4.166664568e-2 + z * (-1.388731625e-3 + z * 2.443315712e-5));
    switch quarters & 3u {
        case 0u: { return vec2<f32>(s, c); }
        case 1u: { return vec2<f32>(c, -s); }
        case 2u: { return vec2<f32>(-s, -c); }
        default: { return vec2<f32>(-c, s); }
    }
}
