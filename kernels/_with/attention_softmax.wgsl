// with: attention_keys order
// A team takes the softmax over the scores that one row sees; the other keys become 0, and so does a row whose keys are
// all hidden. The kernel declares k (HEADS, S, D), offset, scores, `score_count()`, `score_at(i)` and `store(i, p)`.
// Reference: webxpu/ops/_attention.py.

override D: u32;

const HIDDEN = 0xff800000u; // -inf

// What a score adds to its row's sum.
fn power(bits: u32, largest: f32) -> f32 {
    if (bits == HIDDEN) {
        return 0.0;
    }
    return exp(bitcast<f32>(bits) - largest);
}

@compute @workgroup_size(THREADS)
fn main(thread: Thread) {
    let keys = arrayLength(&k) / (HEADS * D);
    let lines = score_count() / keys;
    let line = team_line(thread, lines);
    let rows = lines / HEADS;
    let seen = keys_of_row(line % rows, rows / GROUP, keys);
    let base = line * keys;
    var largest = -0x1.fffffep127f;
    for (var key = team_first(thread); key < seen; key += team_step()) {
        let bits = score_at(base + key);
        if (bits != HIDDEN) {
            largest = max(largest, bitcast<f32>(bits));
        }
    }
    largest = from_order(team_highest(thread, order_bits(largest)));
    var sum = 0.0;
    var at = team_first(thread);
    while (at < seen) {
        var block = 0.0; // of at most 64: a long row loses no more digits than a short one
        for (var i = 0u; i < 64u && at < seen; i++) {
            block += power(score_at(base + at), largest);
            at += team_step();
        }
        sum += block;
    }
    let whole = team_sum(thread, 0u, sum);
    // A team past the end has the last line again, and must not write: the line may be probabilities by now.
    if (team_line(thread, lines + 1u) == lines) {
        return;
    }
    for (var key = team_first(thread); key < keys; key += team_step()) {
        var p = 0.0;
        if (key < seen && whole != 0.0) { // a NaN is not 0, nor more than it: it stays
            p = power(score_at(base + key), largest) / whole;
        }
        store(base + key, p);
    }
}
