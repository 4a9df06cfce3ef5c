// with: real_f16 flash_attention
// Attention in one pass, float16.
