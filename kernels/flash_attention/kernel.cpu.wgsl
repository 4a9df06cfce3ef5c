// with: real_f32 flash_attention_thread
// Attention in one pass, float32, without workgroup memory.
