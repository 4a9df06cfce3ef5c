// with: wide sincos rope_pair
// A thread computes the angle of one pair of channels in one row and turns the pair in up to HEADS heads: pair fastest,
// then block of heads, then row. The channels are START to START + WIDTH, which turn by column AXIS of the positions.
// Angles are whole numbers of 2^-64 of a turn, so that no position is too far: what wraps is a full turn.
// Reference: webxpu/ops/rope.py. x (L, H, D), positions (L, AXES) int32 or float32, out (L, H, D).

override START: u32;
override WIDTH: u32;
override AXES: u32;
override AXIS: u32;
override HEADS: u32;
override WHOLE: u32; // 1: positions are int32; 0: float32
override RATIO_LOW: u32; // base ^ (-2 / WIDTH), in 2^-64
override RATIO_HIGH: u32;
// Pair RAMP_START + n turns slower by n STEPs of 2^-64, from RAMP_START + RAMP_LENGTH on by no more.
override RAMP_START: i32;
override RAMP_LENGTH: i32;
override STEP_LOW: u32;
override STEP_HIGH: u32;
override GAIN: f32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> positions: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

// A product of fractions in 2^-64, short by at most 3.
fn times(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let high = vec2<u32>(a.y * b.y, multiply_high(a.y, b.y));
    return add64(add64(high, vec2<u32>(multiply_high(a.y, b.x), 0u)), vec2<u32>(multiply_high(a.x, b.y), 0u));
}

// How far a position turns a pair.
fn frequency(pair: u32) -> vec2<u32> {
    var turns = vec2<u32>(0x9391054au, 0x28be60dbu); // 2^64 / (2 pi): one radian
    var power = vec2<u32>(RATIO_LOW, RATIO_HIGH);
    for (var bits = pair; bits != 0u; bits >>= 1u) {
        if ((bits & 1u) == 1u) {
            turns = times(turns, power);
        }
        power = times(power, power);
    }
    let steps = u32(clamp(i32(pair) - RAMP_START, 0, RAMP_LENGTH));
    let slower = vec2<u32>(steps * STEP_LOW, steps * STEP_HIGH + multiply_high(steps, STEP_LOW));
    return subtract64(turns, times(turns, slower));
}

// In 2^-32 of a turn.
fn phase(position: u32, turns: vec2<u32>) -> u32 {
    let negative = position >> 31u == 1u;
    var whole = select(position, 0u - position, negative);
    var rest = 0u;
    if (WHOLE == 0u) {
        let size = abs(bitcast<f32>(position));
        whole = u32(size);
        rest = u32(fract(size) * 4294967296.0);
    }
    let angle = whole * turns.y + multiply_high(whole, turns.x) + multiply_high(rest, turns.y);
    return select(angle, 0u - angle, negative);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (wid.x + wid.y * num.x) * 256u + local;
    let pair = i % (WIDTH / 2u);
    let blocks = (H + HEADS - 1u) / HEADS;
    let block = i / (WIDTH / 2u) % blocks;
    let row = i / (WIDTH / 2u) / blocks;
    if (row < arrayLength(&out) / (H * D)) {
        let angle = phase(positions[row * AXES + AXIS], frequency(pair));
        let quarter = (angle + 0x20000000u) >> 30u; // the nearest; the rest is within an eighth of a turn
        let near = sin_cos_quarters(f32(bitcast<i32>(angle - (quarter << 30u))) * 1.4629180792671596e-9, quarter);
        for (var head = block * HEADS; head < min((block + 1u) * HEADS, H); head++) {
            turn_pair(row * H + head, START, WIDTH, pair, GAIN * near.yx);
        }
    }
}
