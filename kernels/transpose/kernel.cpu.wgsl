// with: matrices flat_map
// A workgroup writes 1,024 words in order, each fetched from its place: a CPU adapter pays more for a barrier.
// Reference: webxpu/ops/transpose.py. x (BATCH, R, C), out (BATCH, C, R).

alias Value = u32;

fn value_at(i: u32) -> Value {
    let within = i % matrix_words();
    return x[i - within + within % rows() * columns() + within / rows()];
}
