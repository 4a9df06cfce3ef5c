// with: flat_map
// A workgroup writes 1,024 words in order, each fetched from its place.
// Reference: webxpu/ops/permute.py. x (BATCH, N0, N1, N2, N3, N4), words of 32 bits; axis k of out, after BATCH, is
// axis Pk of x. One size is 0 and counted from the length instead.

override BATCH: u32;
override N0: u32;
override N1: u32;
override N2: u32;
override N3: u32;
override N4: u32;
override P0: u32;
override P1: u32;
override P2: u32;
override P3: u32;
override P4: u32;

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

const AXES = 5u;

alias Value = u32;

fn value_at(i: u32) -> Value {
    var sizes = array<u32, AXES>(N0, N1, N2, N3, N4);
    let axes = array<u32, AXES>(P0, P1, P2, P3, P4);
    var known = BATCH;
    for (var axis = 0u; axis < AXES; axis++) {
        known *= max(sizes[axis], 1u);
    }
    var strides: array<u32, AXES>;
    var words = 1u;
    for (var axis = AXES; axis > 0u; axis--) {
        sizes[axis - 1u] = select(sizes[axis - 1u], arrayLength(&x) / known, sizes[axis - 1u] == 0u);
        strides[axis - 1u] = words;
        words *= sizes[axis - 1u];
    }
    var rest = i;
    var place = 0u;
    for (var k = AXES; k > 0u; k--) {
        let axis = axes[k - 1u];
        place += rest % sizes[axis] * strides[axis];
        rest /= sizes[axis];
    }
    return x[rest * words + place];
}
