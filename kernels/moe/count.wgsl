// with: moe_pairs
// A thread counts the pairs of one expert in one block. No atomics: who is dropped must not depend on who comes first.
// Reference: webxpu/ops/moe.py. expert (T, K), counts (blocks, E).

@group(0) @binding(0) var<storage, read> expert: array<i32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (wid.x + wid.y * num.x) * 64u + local;
    if (i < arrayLength(&counts)) {
        let block = i / E;
        var count = 0u;
        for (var pair = block * BLOCK; pair < min((block + 1u) * BLOCK, arrayLength(&expert)); pair++) {
            count += select(0u, 1u, expert[place_of(pair)] == i32(i % E));
        }
        counts[i] = count;
    }
}
