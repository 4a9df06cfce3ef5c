// with: real_f32 attention_scores_thread
// Scores of queries and keys, float32, without workgroup memory.
