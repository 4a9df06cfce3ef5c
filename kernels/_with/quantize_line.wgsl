// A team quantises one line. Reference: webxpu/ops/quantize.py. x and codes (rows, D), scales (rows,).
// A code is v = x * (127 / a), in float64, to the nearest whole number, ties up; a is the line's largest magnitude. Here
// it is found in whole numbers, so that every device gives the same.

override D: u32;

@group(0) @binding(0) var<storage, read> x: array<u32>; // the bits of float32
@group(0) @binding(1) var<storage, read_write> codes: array<i32>;
@group(0) @binding(2) var<storage, read_write> scales: array<f32>;

const MAGNITUDE = 0x7fffffffu; // all but the sign; larger bits are the larger magnitude

// A magnitude's bits as significand * 2^exponent, up to a factor that all share. 2^23 <= significand < 2^24, or 0 of 0.
struct Parts {
    significand: u32,
    exponent: i32,
}

fn parts_of(bits: u32) -> Parts {
    if (bits < 0x800000u) {
        let shift = countLeadingZeros(bits) - 8u;
        return Parts(bits << shift, 1 - i32(shift));
    }
    return Parts((bits & 0x7fffffu) | 0x800000u, i32(bits >> 23u));
}

// Where |v| = odd / 2 exactly, float64 may still lie beside it: 127 / a is rounded to 53 bits and then once more as a
// product. 1 where |v| comes out too large, -1 too small, 0 exact. `a` is a's significand.
fn side_of_tie(a: u32, odd: u32) -> i32 {
    // 127 * 2^s / a has 53 bits before the point, and `rest` is what is left over: s = 69, or 70 for the largest a.
    let more = u32(a > 127u << 17u);
    var rest = (127u << 17u) % a;
    for (var bit = 0u; bit < 52u + more; bit++) {
        rest = 2u * rest;
        rest -= select(0u, a, rest >= a);
    }
    let up = 2u * rest > a;
    // odd * (rest / a) against half a unit in the last place of odd / 2, both times the same factor.
    let half = 127u << (16u + more + 31u - countLeadingZeros(odd));
    if (up) {
        return i32(odd * (a - rest) > half);
    }
    // Below a power of two, which is only 1 / 2, the units are half as large.
    return -i32(odd * rest > select(half, half / 2u, odd == 1u));
}

fn code_of(bits: u32, largest: u32) -> i32 {
    let a = parts_of(largest);
    let value = parts_of(bits & MAGNITUDE);
    let shift = u32(a.exponent - value.exponent);
    if (largest == 0u || shift > 31u) {
        return 0;
    }
    // |v| = 254 x / 2 a. What the shift cuts off is less than one, so it matters to ties alone.
    let whole = 254u * value.significand;
    let twice = whole >> shift;
    var code = (twice + a.significand) / (2u * a.significand);
    let negative = bits > MAGNITUDE;
    if (twice + a.significand == code * 2u * a.significand && twice << shift == whole) {
        let side = side_of_tie(a.significand, 2u * code - 1u);
        code -= u32(select(side < 0, side <= 0, negative));
    }
    return select(i32(code), -i32(code), negative);
}

fn scale_of(largest: u32) -> f32 {
    return select(bitcast<f32>(largest) / 127.0, 1.0, largest == 0u);
}

@compute @workgroup_size(THREADS)
fn main(thread: Thread) {
    let row = team_line(thread, arrayLength(&scales));
    let base = row * D;
    var largest = 0u;
    for (var i = team_first(thread); i < D; i += team_step()) {
        largest = max(largest, x[base + i] & MAGNITUDE);
    }
    largest = team_highest(thread, largest);
    for (var i = team_first(thread); i < D; i += team_step()) {
        codes[base + i] = code_of(x[base + i], largest);
    }
    if (team_first(thread) == 0u) {
        scales[row] = scale_of(largest);
    }
}
