// with: totals shares order
// A team reduces one share of one line. Reference: webxpu/ops/reduce.py. x (outer, A, INNER), out (outer, PARTS, INNER);
// A is taken from the lengths. A NaN wins: the largest and the smallest are found among whole numbers in which it is
// highest, since devices may assume that there is none.

override KIND: u32; // 0 sum, 1 max, 2 min, 3 mean
override INNER: u32;

@group(0) @binding(0) var<storage, read> x: array<Real>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>; // the bits of floats

const NAN_RANK = 0xffffffffu;
const NAN_BITS = 0x7fc00000u;

// 0 is no value's: less than all others, it begins each search.
fn rank(value: f32) -> u32 {
    let order = order_bits(value);
    let number = select(order, ~order, KIND == 2u);
    return select(number, NAN_RANK, (bitcast<u32>(value) & 0x7fffffffu) > 0x7f800000u);
}

fn ranked_bits(rank: u32) -> u32 {
    return select(bitcast<u32>(from_order(select(rank, ~rank, KIND == 2u))), NAN_BITS, rank == NAN_RANK);
}

@compute @workgroup_size(THREADS)
fn main(thread: Thread) {
    let jobs = arrayLength(&out);
    let job = team_line(thread, jobs);
    let length = arrayLength(&x) / (jobs / PARTS);
    let base = job / INNER / PARTS * length;
    let part = job / INNER % PARTS;
    let step = team_step() * INNER;
    let first = (base + share_start(length, part) + team_first(thread)) * INNER + job % INNER;
    let end = (base + share_start(length, part + 1u)) * INNER;
    var bits = 0u;
    if (KIND == 0u || KIND == 3u) {
        let sum = team_sum(thread, 0u, total(first, end, step, 0.0, 0.0, false));
        bits = bitcast<u32>(select(sum, sum / f32(length), KIND == 3u));
    } else {
        var highest = 0u;
        for (var at = first; at < end; at += step) {
            highest = max(highest, rank(x[at]));
        }
        bits = ranked_bits(team_highest(thread, highest));
    }
    if (team_first(thread) == 0u) {
        out[job] = bits;
    }
}
