// with: real_f32 attention_context_thread
// Probabilities times values, float32, without workgroup memory.
