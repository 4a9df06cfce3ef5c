// with: real_f16 attention_scores
// Scores of queries and keys, float16.
