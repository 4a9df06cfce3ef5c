// with: real_f16 matmul_large
// Tiles of 128 x 128 outputs, K and N multiples of 4.
// Reference: webxpu/ops/matmul.py `matmul`. a (M, K), b (K, N), out (M, N).
