// Convolutions of one to three axes and their transposes. Axis 0 is the outermost; axes that are absent have size 1.
// An output is a sum over the input channels of its group and over taps: at tap t it reads x at `origin + t * STEP`,
// zero outside of x. The number of samples is the grid's z: the sizes of axis 0 come from it and the arrays' lengths.
// `conv_window` and `conv_phase` say where an output's taps lie and which weights meet them; `conv_tile` and
// `conv_direct` compute.
// Reference: webxpu/ops/conv.py. x (N, Cin, size0, SIZE1, SIZE2), bias (Cout,), out (N, Cout, out0, OUT1, OUT2).

override IN_CHANNELS: u32; // of a group
override OUT_CHANNELS: u32; // of a group
override GROUPS: u32;
override BIAS: u32; // whether there is one: 0 or 1
override SIZE1: u32;
override SIZE2: u32;
override OUT1: u32;
override OUT2: u32;
override TAPS0: u32;
override TAPS1: u32;
override TAPS2: u32;
override STEP0: i32;
override STEP1: i32;
override STEP2: i32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

// What a thread knows of its sample and group.
struct Frame {
    size: vec3<u32>, // of x
    positions: u32, // of a channel of out
    first: u32, // the element of x at which the group's channels begin
    row: u32, // the group's first channel, counted through all samples
    group: u32,
}

// An output position.
struct Spot {
    place: u32, // in its channel of out; past the end it is not stored
    origin: vec3<i32>,
    skipped: vec3<u32>, // elements of the kernel before tap 0: `conv_phase` only
    taps: vec3<u32>, // how many this position has, at most TAPS
}

// One term of the sum: k counts through input channels and taps.
struct Term {
    k: u32,
    channel: u32,
    tap: vec3<u32>,
}

fn out_positions(samples: u32) -> u32 {
    return arrayLength(&out) / (samples * GROUPS * OUT_CHANNELS);
}

fn frame_of(sample: u32, samples: u32, group: u32) -> Frame {
    let row = sample * GROUPS + group;
    let channel_size = arrayLength(&x) / (samples * GROUPS * IN_CHANNELS);
    let size = vec3<u32>(channel_size / (SIZE1 * SIZE2), SIZE1, SIZE2);
    return Frame(size, out_positions(samples), row * IN_CHANNELS * channel_size, row * OUT_CHANNELS, group);
}

fn coordinates(i: u32, size1: u32, size2: u32) -> vec3<u32> {
    return vec3<u32>(i / (size1 * size2), i / size2 % size1, i % size2);
}

fn term_of(k: u32) -> Term {
    let taps = TAPS0 * TAPS1 * TAPS2;
    return Term(k, k / taps, coordinates(k % taps, TAPS1, TAPS2));
}

fn x_at(frame: Frame, origin: vec3<i32>, term: Term) -> f32 {
    // A place before the array becomes a large unsigned one: one comparison sees both ends.
    let at = vec3<u32>(origin + vec3<i32>(term.tap) * vec3<i32>(STEP0, STEP1, STEP2));
    let inside = all(at < frame.size);
    let i = ((term.channel * frame.size.x + at.x) * SIZE1 + at.y) * SIZE2 + at.z;
    return select(0.0, x[select(0u, frame.first + i, inside)], inside);
}

fn store(frame: Frame, channel: u32, place: u32, sum: f32) {
    if (channel >= OUT_CHANNELS || place >= frame.positions) {
        return;
    }
    var value = sum;
    if (BIAS == 1u) {
        value += bias[frame.group * OUT_CHANNELS + channel];
    }
    out[(frame.row + channel) * frame.positions + place] = value;
}
