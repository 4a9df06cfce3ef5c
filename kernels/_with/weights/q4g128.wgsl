// with: nibble_rows
// Our own 4-bit weights in one buffer, w = scale * code, K a multiple of 4: rows of codes, each filled up to 16 bytes with
// zeros; then one float32 scale for every 128 columns of a row. Layout: webxpu/quant/rows.py.

fn code_scale(row: u32, block: u32) -> f32 {
    let i = row * ((K + 127u) / 128u) + block / 4u;
    return bitcast<f32>(weights[N * row_loads() + i / 4u][i % 4u]);
}
