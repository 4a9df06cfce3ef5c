// A thread computes one column: the orders follow from each other, and neighbours write neighbouring words.
// Reference: webxpu/ops/pope.py. out (L, D); L comes from its length.

override D: u32;
override OFFSET: u32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let column = (wid.x + wid.y * num.x) * 64u + local;
    if (column >= D) {
        return;
    }
    let end = OFFSET + arrayLength(&out) / D;
    let x = f32(2 * i32(column) - i32(D)) / f32(D);
    var before = 0.0;
    var last = 1.0;
    for (var k = 0u; k < end; k++) {
        if (k >= OFFSET) {
            out[(k - OFFSET) * D + column] = last;
        }
        let next = (f32(2u * k + 1u) * x * last - f32(k) * before) / f32(k + 1u);
        before = last;
        last = next;
    }
}
