// with: flat
// Adds to each score its head's slope times the distance from query to key. Reference: webxpu/ops/alibi.py.
// scores (HEADS, M, N), those of heads FIRST on; slopes (H,); offset (1,), not read where OFFSET is 0; out (HEADS, M, N).

override HEADS: u32;
override FIRST: u32;
override M: u32;
override OFFSET: u32;

@group(0) @binding(0) var<storage, read> scores: array<f32>;
@group(0) @binding(1) var<storage, read> slopes: array<f32>;
@group(0) @binding(2) var<storage, read> offset: array<i32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let keys = arrayLength(&out) / (HEADS * M);
    var first = 0;
    if (OFFSET != 0u) {
        first = offset[0];
    }
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&out)) {
            // As whole numbers with a sign: an unsigned difference would wrap below the diagonal.
            let distance = i32(i % keys) - (i32(i / keys % M) + first);
            out[i] = scores[i] + slopes[FIRST + i / keys / M] * f32(distance);
        }
    }
}
