// with: flat
// A workgroup computes 1,024 elements.
// Reference: webxpu/ops/dequantize.py. x and out: the same length.

override SCALE: f32;

@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&out)) {
            out[i] = f32(x[i]) * SCALE;
        }
    }
}
