// What stands for -inf, which WGSL does not promise to know: the logit of a banned token, and below it that of a token
// that a mask forbids. See webxpu/ops/penalize.py and mask.py.

const BANNED = -0x1p127f;
const FORBIDDEN = -0x1.fffffep127f;

// A logit moved by some amount; what is banned stays so.
fn moved(logit: f32, by: f32) -> f32 {
    return select(BANNED, max(logit + by, BANNED), logit > BANNED);
}
