// with: byte_rows
// Our own 8-bit weights in one buffer, w = scale * code, K a multiple of 4: rows of codes, each filled up to 16 bytes with
// zeros; then one float32 scale a row. Layout: webxpu/quant/rows.py.

fn code_scale(row: u32, block: u32) -> f32 {
    return bitcast<f32>(weights[N * row_loads() + row / 4u][row % 4u]);
}
