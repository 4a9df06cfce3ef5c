// with: order
// A team computes one line: the maximum, then the sum of exponentials. Reference: webxpu/ops/softmax.py.
// x (rows, D), out (rows, D).

override D: u32;

@group(0) @binding(0) var<storage, read> x: array<Real>;
@group(0) @binding(1) var<storage, read_write> out: array<Real>;

@compute @workgroup_size(THREADS)
fn main(thread: Thread) {
    let row = team_line(thread, arrayLength(&out) / D);
    let base = row * D;
    var highest = -0x1.fffffep127f;
    for (var i = team_first(thread); i < D; i += team_step()) {
        highest = max(highest, f32(x[base + i]));
    }
    highest = from_order(team_highest(thread, order_bits(highest)));
    var sum = 0.0;
    var at = team_first(thread);
    while (at < D) {
        var block = 0.0; // of at most 64: a long line loses no more digits than a short one
        for (var i = 0u; i < 64u && at < D; i++) {
            block += exp(f32(x[base + at]) - highest);
            at += team_step();
        }
        sum += block;
    }
    let whole = team_sum(thread, 0u, sum);
    for (var i = team_first(thread); i < D; i += team_step()) {
        out[base + i] = Real(exp(f32(x[base + i]) - highest) / whole);
    }
}
