// with: flat
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

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    // L from the output: an x that is empty is still bound by a few bytes.
    let padded = arrayLength(&out) / (BATCH * INNER);
    let length = padded - BEFORE - AFTER;
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&out)) {
            let p = i32(i / INNER % padded) - i32(BEFORE);
            let batch = i / INNER / padded;
            if (MODE == 0u && u32(p) >= length) {
                out[i] = VALUE;
            } else {
                out[i] = x[(batch * length + u32(source(p, i32(length) - 1))) * INNER + i % INNER];
            }
        }
    }
}
