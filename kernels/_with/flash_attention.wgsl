// with: flash_bindings
// A workgroup of 4 * ROWS threads attends all keys for ROWS rows of one kv head and 64 * CHUNKS columns of the output,
// 32 keys at a time, by the online softmax of arXiv 2205.14135. Each tile of keys and values passes once through
// workgroup memory for all the rows, 16 columns of q and k, then 16 keys and 64 columns of v at a time. A thread writes
// whole vec4s.
// Reference: webxpu/ops/flash_attention.py.

override ROWS: u32;
override CHUNKS: u32; // at most 4

const KEYS = 32u;
const STRIDE = KEYS + 1u; // odd, so that neighbouring rows lie in different banks

var<workgroup> staged: array<vec4<f32>, 2u * ROWS + 256u>; // tiles of q and k, or of v: ROWS is 16 or 64
var<workgroup> p: array<u32, ROWS * STRIDE>; // scores, then exponentials, as bits
var<workgroup> met: array<f32, 4u * ROWS>;
var<workgroup> shrinks: array<f32, ROWS>;

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
    let across = (DV + 64u * CHUNKS - 1u) / (64u * CHUNKS);
    let tile = wid.x + wid.y * num.x;
    if (tile >= HEADS * down * across) {
        return;
    }
    let head = tile / (down * across);
    let first_row = tile / across % down * ROWS;
    let first_column = tile % across * (64u * CHUNKS);
    let last_row = min(first_row + ROWS, rows) - 1u;
    let end = keys_of_rows(first_row, last_row, length, keys);
    let ty = local / 16u; // scores and outputs of rows 4 * ty to + 3 are this thread's, keys tx and tx + 16
    let tx = local % 16u;
    let p_row = local / 4u; // the softmax of this row is shared by four threads, a quarter of the keys each
    let quarter = local % 4u;
    // Rows past the end repeat the last one: their results are not stored.
    let load_row = head * rows + min(first_row + p_row, last_row);

    var largest = LOWEST;
    var weight = 0.0;
    var sums: array<vec4<f32>, 16>; // 4 rows of each chunk
    for (var base = 0u; base < end; base += KEYS) {
        // With its zeros written out: without, Chromium 156 on SwiftShader leaves what the round before left.
        var scores = array<vec2<f32>, 4>();
        for (var column = 0u; column < D; column += 16u) {
            workgroupBarrier(); // the tiles before have been used
            staged[quarter * ROWS + p_row] = q_quad(load_row, column + quarter * 4u);
            for (var i = local; i < 4u * KEYS; i += 4u * ROWS) {
                let key = head * keys + min(base + i / 4u, end - 1u);
                staged[4u * ROWS + i % 4u * KEYS + i / 4u] = k_quad(key, column + quarter * 4u);
            }
            workgroupBarrier();
            for (var quad = 0u; quad < 4u; quad++) {
                let k0 = staged[4u * ROWS + quad * KEYS + tx];
                let k1 = staged[4u * ROWS + quad * KEYS + tx + 16u];
                for (var i = 0u; i < 4u; i++) {
                    let query = staged[quad * ROWS + ty * 4u + i];
                    scores[i] += vec2<f32>(dot(query, k0), dot(query, k1));
                }
            }
        }
        for (var i = 0u; i < 4u; i++) {
            let row = min(first_row + ty * 4u + i, last_row);
            let seen = keys_of_row(row, length, keys);
            for (var j = 0u; j < 2u; j++) {
                let key = base + tx + 16u * j;
                var bits = HIDDEN;
                if (key < seen) {
                    bits = score_bits(scores[i][j], head, row, key, length, keys);
                }
                p[(ty * 4u + i) * STRIDE + tx + 16u * j] = bits;
            }
        }
        workgroupBarrier();
        var most = largest;
        for (var i = 0u; i < KEYS / 4u; i++) {
            let bits = p[p_row * STRIDE + quarter * (KEYS / 4u) + i];
            if (bits != HIDDEN) {
                most = max(most, bitcast<f32>(bits));
            }
        }
        met[local] = most;
        workgroupBarrier();
        for (var i = 0u; i < 4u; i++) {
            most = max(most, met[p_row * 4u + i]);
        }
        let shrink = exp(largest - most);
        largest = most;
        weight *= shrink;
        if (quarter == 0u) {
            shrinks[p_row] = shrink;
        }
        for (var i = 0u; i < KEYS / 4u; i++) {
            let at = p_row * STRIDE + quarter * (KEYS / 4u) + i;
            var share = 0.0;
            if (p[at] != HIDDEN) {
                share = exp(bitcast<f32>(p[at]) - largest);
            }
            weight += share;
            p[at] = bitcast<u32>(share);
        }
        for (var chunk = 0u; chunk < CHUNKS; chunk++) {
            for (var part = 0u; part < KEYS; part += 16u) {
                workgroupBarrier(); // the tile before has been used, and the exponentials are there
                for (var i = local; i < 256u; i += 4u * ROWS) {
                    let key = base + part + i / 16u;
                    let value = v_quad(head * keys + min(key, end - 1u), first_column + chunk * 64u + i % 16u * 4u);
                    staged[i] = select(vec4<f32>(), value, key < end);
                }
                workgroupBarrier();
                for (var i = 0u; i < 4u; i++) {
                    var sum = sums[chunk * 4u + i];
                    if (part == 0u) {
                        sum *= shrinks[ty * 4u + i];
                    }
                    for (var key = 0u; key < 16u; key++) {
                        sum += bitcast<f32>(p[(ty * 4u + i) * STRIDE + part + key]) * staged[key * 16u + tx];
                    }
                    sums[chunk * 4u + i] = sum;
                }
            }
        }
    }
    met[local] = weight;
    workgroupBarrier();
    for (var i = 0u; i < 4u; i++) {
        let row = ty * 4u + i;
        if (first_row + row < rows) {
            let at = row * 4u;
            let total = met[at] + met[at + 1u] + met[at + 2u] + met[at + 3u];
            for (var chunk = 0u; chunk < CHUNKS; chunk++) {
                store_quad(
                    head * rows + first_row + row,
                    first_column + chunk * 64u + tx * 4u,
                    normalised(sums[chunk * 4u + i], total),
                );
            }
        }
    }
}
