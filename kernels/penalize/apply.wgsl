// with: came_before banned
// One thread an id of the history; the first one to take an id's count applies the penalties to it.
// Reference: webxpu/ops/penalize.py. history (C,), out and counts (V,).

@group(0) @binding(0) var<storage, read> history: array<i32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;
@group(0) @binding(3) var<uniform> state: State;

const BAN = 0x80000000u;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (wid.x + wid.y * num.x) * 256u + local;
    if (i >= kept_ids() || id_back(i) >= arrayLength(&out)) {
        return;
    }
    let id = id_back(i);
    let count = atomicExchange(&counts[id], 0u);
    if (count == 0u) {
        return;
    }
    let value = out[id];
    let repeated = select(value / state.repetition, value * state.repetition, value < 0.0);
    let penalized = repeated - state.presence - state.frequency * f32(count & ~BAN);
    out[id] = select(BANNED, max(penalized, BANNED), value > BANNED && (count & BAN) == 0u);
}
