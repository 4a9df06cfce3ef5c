// with: attention_pv
// A workgroup of 4 * ROWS threads computes ROWS rows and 64 columns of the output, 4 x 4 a thread, from tiles of 16
// keys of probs and v. A thread writes whole vec4s of a tile.
// Reference: webxpu/ops/_attention.py.

override ROWS: u32;

var<workgroup> p_tile: array<vec4<f32>, 4u * ROWS>; // 4 quads of keys, each of ROWS rows
var<workgroup> v_tile: array<vec4<f32>, 256>; // 16 keys of 16 quads

// Keys past the end repeat the last one: they meet values of 0.
fn p_at(row: u32, key: u32, keys: u32) -> f32 {
    return f32(probs[row * keys + min(key, keys - 1u)]);
}

@compute @workgroup_size(4u * ROWS)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = arrayLength(&out) / (HEADS * DV);
    let keys = arrayLength(&v) / (HEADS * DV);
    let down = (rows + ROWS - 1u) / ROWS;
    let across = (DV + 63u) / 64u;
    let tile = wid.x + wid.y * num.x;
    if (tile >= HEADS * down * across) {
        return;
    }
    let head = tile / (down * across);
    let first_row = tile / across % down * ROWS;
    let first_column = tile % across * 64u;
    let last_row = min(first_row + ROWS, rows) - 1u;
    let end = keys_of_rows(first_row, last_row, rows / GROUP, keys);
    let ty = local / 16u;
    let tx = local % 16u;
    let load_row = head * rows + min(first_row + local / 4u, last_row);
    let load_key = local % 4u * 4u;

    var sums: array<vec4<f32>, 4>;
    for (var base = 0u; base < end; base += 16u) {
        workgroupBarrier(); // the tiles before have been used
        let key = base + load_key;
        p_tile[local % 4u * ROWS + local / 4u] = vec4<f32>(
            p_at(load_row, key, keys),
            p_at(load_row, key + 1u, keys),
            p_at(load_row, key + 2u, keys),
            p_at(load_row, key + 3u, keys),
        );
        for (var i = local; i < 256u; i += 4u * ROWS) {
            let from_key = base + i / 16u;
            let value = v_quad(head * keys + min(from_key, end - 1u), first_column + i % 16u * 4u);
            v_tile[i] = select(vec4<f32>(), value, from_key < end);
        }
        workgroupBarrier();
        for (var quad = 0u; quad < 4u; quad++) {
            for (var i = 0u; i < 4u; i++) {
                let p = p_tile[quad * ROWS + ty * 4u + i];
                let at = quad * 64u + tx;
                sums[i] += p.x * v_tile[at] + p.y * v_tile[at + 16u] + p.z * v_tile[at + 32u] + p.w * v_tile[at + 48u];
            }
        }
    }
    for (var i = 0u; i < 4u; i++) {
        let row = first_row + ty * 4u + i;
        if (row < rows) {
            store_quad(head * rows + row, first_column + tx * 4u, sums[i]);
        }
    }
}
