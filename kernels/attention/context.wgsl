// with: real_f32 attention_context
// Probabilities times values, float32.
