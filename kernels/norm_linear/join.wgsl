// One thread moves one value.
// Reference: webxpu/ops/norm_linear.py, join. a (L, A), b (L, B), out (L, A + B).

override A: u32;
override B: u32;

@group(0) @binding(0) var<storage, read> a: array<u32>; // the bits of floats
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (wid.x + wid.y * num.x) * 64u + local;
    if (i >= arrayLength(&out)) {
        return;
    }
    let row = i / (A + B);
    let column = i % (A + B);
    if (column < A) {
        out[i] = a[row * A + column];
    } else {
        out[i] = b[row * B + column - A];
    }
}
