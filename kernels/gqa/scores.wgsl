// with: real_f32 attention_scores
// Scores of queries and keys, float32.
