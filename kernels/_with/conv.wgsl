// Convolutions of one to three axes and their transposes. Axis 0 is the outermost; axes that are absent have size 1.
// An output is a sum over the input channels of its group and over taps: at tap t it reads x at `origin + t * STEP`,
// zero outside of x. Of `samples` (N,) only the length is read: the sizes of axis 0 are what the arrays' lengths leave.
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
@group(0) @binding(4) var<storage, read> samples: array<u32>;

// What all of a thread's positions share.
struct Frame {
    size: vec3<u32>, // of x
    out_size: vec3<u32>,
    positions: u32, // of a channel of out
    group: u32,
}

// An output position of one sample.
struct Spot {
    line: u32, // the group, counted through all samples
    place: u32, // in its channel of out; `positions` where nothing is stored
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

fn out_positions() -> u32 {
    return arrayLength(&out) / (arrayLength(&samples) * GROUPS * OUT_CHANNELS);
}

fn frame_of(group: u32) -> Frame {
    let size = arrayLength(&x) / (arrayLength(&samples) * GROUPS * IN_CHANNELS);
    let positions = out_positions();
    return Frame(
        vec3<u32>(size / (SIZE1 * SIZE2), SIZE1, SIZE2),
        vec3<u32>(positions / (OUT1 * OUT2), OUT1, OUT2),
        positions,
        group,
    );
}

fn coordinates(i: u32, size1: u32, size2: u32) -> vec3<u32> {
    return vec3<u32>(i / (size1 * size2), i / size2 % size1, i % size2);
}

fn term_of(k: u32) -> Term {
    let taps = TAPS0 * TAPS1 * TAPS2;
    return Term(k, k / taps, coordinates(k % taps, TAPS1, TAPS2));
}

fn x_at(frame: Frame, spot: Spot, term: Term) -> f32 {
    // A place before the array becomes a large unsigned one: one comparison sees both ends.
    let at = vec3<u32>(spot.origin + vec3<i32>(term.tap) * vec3<i32>(STEP0, STEP1, STEP2));
    let inside = all(at < frame.size);
    let row = spot.line * IN_CHANNELS + term.channel;
    let i = ((row * frame.size.x + at.x) * SIZE1 + at.y) * SIZE2 + at.z;
    return select(0.0, x[select(0u, i, inside)], inside);
}

fn store(frame: Frame, spot: Spot, channel: u32, sum: f32) {
    if (channel >= OUT_CHANNELS || spot.place >= frame.positions) {
        return;
    }
    var value = sum;
    if (BIAS == 1u) {
        value += bias[frame.group * OUT_CHANNELS + channel];
    }
    out[(spot.line * OUT_CHANNELS + channel) * frame.positions + spot.place] = value;
}
