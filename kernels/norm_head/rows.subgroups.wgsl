// with: weights norm
enable subgroups;
requires subgroup_id;
// kernel.subgroups.wgsl for every row of a few, each with its sums in the same order: a workgroup computes 64 logits, a
// subgroup four of them at a time, of all of them.
// Reference: webxpu/ops/norm_head.py, norm_head_rows. weights (V, K), x (ROWS, K), gain (K,), out (ROWS, V).

override N: u32;
override K: u32;
override THREADS: u32;
override ROWS: u32; // at most 9

@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
) {
    let start = (wid.x + wid.y * num.x) * 64u;
    for (var offset = 0u; offset < 64u; offset += 4u * subgroups) {
        let first = start + offset + 4u * subgroup;
        let columns = min(vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(N - 1u));
        // Initialised, since without a value a variable of a loop's body is not zero each time on SwiftShader.
        var sums = array<vec4<f32>, 9>();
        var squares = array<f32, 9>();
        for (var i = lane; i < octets(); i += lanes) {
            for (var row = 0u; row < ROWS; row++) {
                let octet = load_octet(row, i);
                squares[row] += octet.squares;
                sums[row] += vec4<f32>(
                    dot8(columns.x, i, octet.a, octet.b),
                    dot8(columns.y, i, octet.a, octet.b),
                    dot8(columns.z, i, octet.a, octet.b),
                    dot8(columns.w, i, octet.a, octet.b),
                );
            }
        }
        for (var row = 0u; row < ROWS; row++) {
            let logits = subgroupAdd(sums[row]) * root(subgroupAdd(squares[row]));
            if (lane < 4u && first + lane < N) {
                out[row * N + first + lane] = logits[lane];
            }
        }
    }
}
