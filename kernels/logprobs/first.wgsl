// with: highest
// The highest of each workgroup's logits. Reference: webxpu/ops/logprobs.py. high_values and high_ids
// (workgroups, MOST), logits (V,).

@group(0) @binding(2) var<storage, read> logits: array<f32>;

fn candidates() -> u32 {
    return arrayLength(&logits);
}

fn candidate(i: u32) -> Candidate {
    return Candidate(logits[i], i);
}
