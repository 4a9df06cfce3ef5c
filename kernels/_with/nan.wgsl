// Whether a value is no number, by its bits: devices may assume that none is, and drop it in max, min and clamp.

fn is_nan(value: f32) -> bool {
    return (bitcast<u32>(value) & 0x7fffffffu) > 0x7f800000u;
}
