// with: highest
// The highest of each workgroup's share of what the pass before kept. Reference: webxpu/ops/logprobs.py. high_values and
// high_ids (workgroups, MOST), values and ids: those of the pass before.

@group(0) @binding(2) var<storage, read> values: array<f32>;
@group(0) @binding(3) var<storage, read> ids: array<u32>;

fn candidates() -> u32 {
    return arrayLength(&values);
}

fn candidate(i: u32) -> Candidate {
    return Candidate(values[i], ids[i]);
}
