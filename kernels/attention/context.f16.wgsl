// with: real_f16 attention_context
// Probabilities times values, float16.
