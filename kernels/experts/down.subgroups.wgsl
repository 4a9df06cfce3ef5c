// with: weights expert_down
enable subgroups;
requires subgroup_id;
// A subgroup computes one output of one token: over its experts the sum of their rows, each by its gate. Only the rows of
// those experts are read. A lane takes two blocks of 32 at a time, so that both are loaded at once.

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
) {
    let at = min((wid.x + wid.y * num.x) * subgroups + subgroup, arrayLength(&out) - 1u);
    var total = 0.0;
    for (var rank = 0u; rank < RANKS; rank++) {
        let pair = at / OUT * RANKS + rank;
        let first = first_row(pair);
        let row = select(first + at % OUT, 0u, first == N);
        var sum = 0.0;
        for (var block = lane; block < blocks() && first != N; block += 2u * lanes) {
            let second = min(block + lanes, blocks() - 1u);
            let more = dot32(row, second, load_block(pair, second));
            sum += dot32(row, block, load_block(pair, block)) + select(0.0, more, block + lanes < blocks());
        }
        total += select(gate[pair] * sum, 0.0, first == N); // the gate of no expert may be anything
    }
    let all = subgroupAdd(total);
    if (lane == 0u) {
        out[at] = residual[at] + all;
    }
}
