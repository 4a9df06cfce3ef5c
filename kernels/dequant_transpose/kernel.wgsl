// with: flat
// A thread unpacks a word of four codes; neighbours take neighbouring rows, whose values stand side by side in out.
// Reference: webxpu/ops/dequant_transpose.py. weight (N, ceil(K / 4)), scale (N,), out (K, N).

override K: u32;

@group(0) @binding(0) var<storage, read> weight: array<u32>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let n = arrayLength(&out) / K;
    let words = (K + 3u) / 4u;
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        let row = i % n;
        let word = i / n;
        let codes = weight[row * words + word];
        for (var byte = 0u; byte < 4u; byte++) {
            let column = word * 4u + byte;
            if (column < K) { // neither the end of a row's last word nor a word past the last
                out[column * n + row] = f32(extractBits(i32(codes), byte * 8u, 8u)) * scale[row];
            }
        }
    }
}
