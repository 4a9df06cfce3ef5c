// with: weights state
// One thread copies 32 columns of one row, decoded and scaled.
// Reference: webxpu/ops/embed.py. weights (N, K), history (C,), a ring, out (rows, K).

override N: u32;
override K: u32;
override SCALE: f32;

@group(0) @binding(1) var<storage, read> history: array<i32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(3) var<uniform> state: State;

const BLOCK = 32u;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let blocks = (K + BLOCK - 1u) / BLOCK;
    let i = (wid.x + wid.y * num.x) * 64u + local;
    let row = i / blocks;
    let block = i % blocks;
    if (row >= arrayLength(&out) / K) {
        return;
    }
    let position = state.position + row;
    var id = -1;
    if (position < arrayLength(&history)) {
        id = history[(state.evicted + position) % arrayLength(&history)];
    }
    let known = id >= 0 && id < i32(N);
    var values = unpack32(u32(select(0, id, known)), block);
    for (var c = 0u; c < BLOCK && block * BLOCK + c < K; c++) {
        out[row * K + block * BLOCK + c] = select(0.0, values[c / 4u][c % 4u] * SCALE, known);
    }
}
