// Floats as unsigned integers in the same order. A negative NaN comes lowest and a positive one highest, whatever the
// device's own comparisons make of them.

fn order_bits(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    return bits ^ select(0x80000000u, 0xffffffffu, bits >> 31u == 1u);
}

fn from_order(bits: u32) -> f32 {
    return bitcast<f32>(bits ^ select(0xffffffffu, 0x80000000u, bits >> 31u == 1u));
}
