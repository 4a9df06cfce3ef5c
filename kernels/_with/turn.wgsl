// with: sincos
// Cosine and sine of m / n of a full turn, m < n < 2^29, to 1e-7: quarter turns are taken off as integers, so that only
// what is left is rounded, an eighth of a turn at most.

fn turn(m: u32, n: u32) -> vec2<f32> {
    let quarters = (8u * m + n) / (2u * n); // the nearest
    let rest = f32(i32(4u * m) - i32(quarters * n)) / f32(n);
    return sin_cos_quarters(rest * 1.5707963267948966, quarters).yx;
}
