// with: weights expert_down
// One thread computes UNITS (1, 2 or 4) outputs of one token, without a barrier: over its experts the sum of their rows,
// each by its gate. Only the rows of those experts are read.

override UNITS: u32;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let group = wid.x + wid.y * num.x;
    let groups = (OUT + 64u * UNITS - 1u) / (64u * UNITS); // of a token
    let row = group % groups * (64u * UNITS) + local;
    let line = group / groups;
    if (row >= OUT || line >= arrayLength(&out) / OUT) {
        return;
    }
    let rows = min(vec4<u32>(row) + vec4<u32>(0u, 64u, 128u, 192u), vec4<u32>(OUT - 1u));
    var totals = vec4<f32>();
    for (var rank = 0u; rank < RANKS; rank++) {
        let pair = line * RANKS + rank;
        let first = first_row(pair);
        if (first == N) {
            continue;
        }
        var sums = vec4<f32>();
        for (var i = 0u; i < blocks(); i++) {
            let block = load_block(pair, i);
            sums.x += dot32(first + rows.x, i, block);
            if (UNITS > 1u) {
                sums.y += dot32(first + rows.y, i, block);
            }
            if (UNITS > 2u) {
                sums.z += dot32(first + rows.z, i, block);
                sums.w += dot32(first + rows.w, i, block);
            }
        }
        totals += gate[pair] * sums;
    }
    for (var u = 0u; u < UNITS; u++) {
        let at = line * OUT + rows[u];
        out[at] = residual[at] + totals[u];
    }
}
