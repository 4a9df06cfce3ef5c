// with: real_f32 matmul_tile
// Tiles of ROWS x 64 outputs.
// Reference: webxpu/ops/matmul.py `matmul`. a (M, K), b (K, N), out (M, N).
