// with: flat_map
// A workgroup writes 1,024 words in order, each fetched from its nearest place.
// Reference: webxpu/ops/upsample.py. x (planes, H, W), words of 32 bits, out (planes, OUT_H, OUT_W).

override H: u32;
override W: u32;
override OUT_H: u32;
override OUT_W: u32;
// H / OUT_H and W / OUT_W, divided on the host: a division in WGSL need not be correctly rounded, a product is.
override SCALE_H: f32;
override SCALE_W: f32;

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

// The last place is passed only where an axis has more than 2^23 places.
fn source(place: u32, scale: f32, size: u32) -> u32 {
    return min(u32(f32(place) * scale), size - 1u);
}

alias Value = u32;

fn value_at(i: u32) -> Value {
    let row = source(i / OUT_W % OUT_H, SCALE_H, H);
    let column = source(i % OUT_W, SCALE_W, W);
    return x[(i / OUT_W / OUT_H * H + row) * W + column];
}
