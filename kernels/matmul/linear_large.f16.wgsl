// with: weights real_f16 linear_large
// Tiles of 128 x 128 outputs, K a multiple of 4.
// Reference: webxpu/ops/matmul.py `linear`. weights (N, K), x (L, K), out (L, N).
