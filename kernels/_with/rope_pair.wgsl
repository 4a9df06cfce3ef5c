// Turns a pair of channels of one head, or copies it in a head outside the range. The kernel declares x and out, both
// (L, H, D).

override H: u32;
override D: u32;
override HALF: u32; // 0: channels 2 i and 2 i + 1 are a pair; 1: channels i and i + width / 2
override HEAD_OFFSET: u32;
override HEAD_COUNT: u32;

// `head` counts over all rows; `start` and `width` are the channels that turn together; `turn` is cosine and sine.
fn turn_pair(head: u32, start: u32, width: u32, pair: u32, turn: vec2<f32>) {
    let first = head * D + start + select(2u * pair, pair, HALF == 1u);
    let second = first + select(1u, width / 2u, HALF == 1u);
    let a = x[first];
    let b = x[second];
    let turns = head % H - HEAD_OFFSET < HEAD_COUNT; // a head before the range wraps past it
    out[first] = select(a, a * turn.x - b * turn.y, turns);
    out[second] = select(b, a * turn.y + b * turn.x, turns);
}
