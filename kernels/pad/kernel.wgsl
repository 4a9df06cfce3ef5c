// with: flat_map
// A workgroup writes 1,024 words in order, each fetched from its place or made of VALUE.
// Reference: webxpu/ops/pad.py. x (BATCH, L, INNER), words of 32 bits, out (BATCH, BEFORE + L + AFTER, INNER).

override BATCH: u32;
override INNER: u32;
override BEFORE: u32;
override AFTER: u32;
override MODE: u32; // 0 constant, 1 reflect, 2 replicate
override VALUE: u32; // the constant's bits

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

// The position in x that is seen at p, which may lie before or past x.
fn source(p: i32, last: i32) -> i32 {
    if (MODE == 1u) {
        return last - abs(last - abs(p));
    }
    return clamp(p, 0, last);
}

alias Value = u32;

fn value_at(i: u32) -> Value {
    // L from the output: an x that is empty is still bound by a few bytes.
    let padded = arrayLength(&out) / (BATCH * INNER);
    let length = padded - BEFORE - AFTER;
    let p = i32(i / INNER % padded) - i32(BEFORE);
    if (MODE == 0u && u32(p) >= length) {
        return VALUE;
    }
    let batch = i / INNER / padded;
    return x[(batch * length + u32(source(p, i32(length) - 1))) * INNER + i % INNER];
}
