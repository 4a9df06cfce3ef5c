// with: weights real_f32 linear_tile
// Tiles of ROWS x 64 outputs.
// Reference: webxpu/ops/matmul.py `linear`. weights (N, K), x (L, K), out (L, N).
