// The natural logarithm of a normal x > 0 to an ulp or two, near 1 too, where the device's may be off by more than the
// result: Cephes, logf.

fn ln(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let mantissa = bitcast<f32>((bits & 0x7fffffu) | 0x3f800000u);
    let upper = mantissa > 1.41421356;
    let e = f32(i32(bits >> 23u) - 127 + select(0, 1, upper));
    let f = select(mantissa, 0.5 * mantissa, upper) - 1.0;
    var p = 7.0376836292e-2 * f - 1.1514610310e-1;
    p = p * f + 1.1676998740e-1;
    p = p * f - 1.2420140846e-1;
    p = p * f + 1.4249322787e-1;
    p = p * f - 1.6668057665e-1;
    p = p * f + 2.0000714765e-1;
    p = p * f - 2.4999993993e-1;
    p = p * f + 3.3333331174e-1;
    let tail = p * f * f * f - 2.12194440e-4 * e - 0.5 * f * f;
    return f + tail + 0.693359375 * e;
}
