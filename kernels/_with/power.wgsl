// e^x of x <= 0 to an ulp or two, where the device's exp may be off by fifty; 0 below -87. Cephes, expf.

fn power(x: f32) -> f32 {
    let y = max(x, -87.0);
    let n = floor(1.44269504 * y + 0.5);
    let r = y - n * 0.693359375 + n * 2.12194440e-4;
    var p = 1.9875691500e-4 * r + 1.3981999507e-3;
    p = p * r + 8.3334519073e-3;
    p = p * r + 4.1665795894e-2;
    p = p * r + 1.6666665459e-1;
    p = p * r + 5.0000001201e-1;
    let scale = bitcast<f32>(u32(i32(n) + 127) << 23u);
    return select(0.0, (p * r * r + r + 1.0) * scale, x >= -87.0);
}
