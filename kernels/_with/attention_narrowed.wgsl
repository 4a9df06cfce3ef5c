// Scores are float32 words, probabilities are narrower. k tells how many keys there are.

@group(0) @binding(0) var<storage, read> k: array<Real>;
@group(0) @binding(1) var<storage, read> offset: array<i32>;
@group(0) @binding(2) var<storage, read> scores: array<u32>;
@group(0) @binding(3) var<storage, read_write> probs: array<Real>;

fn score_count() -> u32 {
    return arrayLength(&scores);
}

fn score_at(i: u32) -> u32 {
    return scores[i];
}

fn store(i: u32, p: f32) {
    probs[i] = Real(p);
}
