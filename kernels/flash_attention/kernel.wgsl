// with: real_f32 flash_attention
// Attention in one pass, float32.
