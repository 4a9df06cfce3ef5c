// with: flat matrices
// A workgroup writes 1,024 words in order, each fetched from its place: a CPU adapter pays more for a barrier.
// Reference: webxpu/ops/transpose.py. x (BATCH, R, C), out (BATCH, C, R).

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&out)) {
            let within = i % matrix_words();
            out[i] = x[i - within + within % rows() * columns() + within / rows()];
        }
    }
}
