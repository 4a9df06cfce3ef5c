// with: attention_qk_bindings
// A workgroup of 4 * ROWS threads computes the scores of ROWS rows and 64 keys, 4 x 4 a thread, from tiles of 16
// columns of q and k. A thread writes whole vec4s of a tile. Scores of keys that no row of the tile sees are left as they are:
// nobody reads them.
// Reference: webxpu/ops/_attention.py.

override ROWS: u32;

var<workgroup> q_tile: array<vec4<f32>, 4u * ROWS>; // 4 quads of columns, each of ROWS rows
var<workgroup> k_tile: array<vec4<f32>, 256>; // and of 64 keys

@compute @workgroup_size(4u * ROWS)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = arrayLength(&q) / (HEADS * D);
    let keys = arrayLength(&k) / (HEADS * D);
    let length = rows / GROUP;
    let down = (rows + ROWS - 1u) / ROWS;
    let across = (keys + 63u) / 64u;
    let tile = wid.x + wid.y * num.x;
    if (tile >= HEADS * down * across) {
        return;
    }
    let head = tile / (down * across);
    let first_row = tile / across % down * ROWS;
    let first_key = tile % across * 64u;
    let last_row = min(first_row + ROWS, rows) - 1u;
    if (first_key >= keys_of_rows(first_row, last_row, length, keys)) {
        return;
    }
    let ty = local / 16u;
    let tx = local % 16u; // keys tx, tx + 16, tx + 32 and tx + 48 are this thread's
    // Rows and keys past the end repeat the last one: their results are not stored.
    let load_row = head * rows + min(first_row + local / 4u, last_row);
    let load_column = local % 4u * 4u;

    var sums: array<vec4<f32>, 4>;
    for (var column = 0u; column < D; column += 16u) {
        workgroupBarrier(); // the tiles before have been used
        q_tile[local % 4u * ROWS + local / 4u] = q_quad(load_row, column + load_column);
        for (var i = local; i < 256u; i += 4u * ROWS) {
            let key = head * keys + min(first_key + i / 4u, keys - 1u);
            k_tile[i % 4u * 64u + i / 4u] = k_quad(key, column + load_column);
        }
        workgroupBarrier();
        for (var quad = 0u; quad < 4u; quad++) {
            let right = mat4x4<f32>(
                k_tile[quad * 64u + tx],
                k_tile[quad * 64u + tx + 16u],
                k_tile[quad * 64u + tx + 32u],
                k_tile[quad * 64u + tx + 48u],
            );
            for (var i = 0u; i < 4u; i++) {
                sums[i] += q_tile[quad * ROWS + ty * 4u + i] * right;
            }
        }
    }
    for (var i = 0u; i < 4u; i++) {
        let row = first_row + ty * 4u + i;
        for (var j = 0u; j < 4u; j++) {
            let key = first_key + tx + 16u * j;
            if (row < rows && key < keys) {
                scores[(head * rows + row) * keys + key] = score_bits(sums[i][j], head, row, key, length, keys);
            }
        }
    }
}
