// with: came_before banned
// One thread an id of the history counts it, and marks it where it would make an n-gram come twice; one thread an entry of
// the bias table adds it.
// Reference: webxpu/ops/penalize.py. history (C,), bias_ids and bias_values (B,), out and counts (V,).

@group(0) @binding(0) var<storage, read> history: array<i32>;
@group(0) @binding(1) var<storage, read> bias_ids: array<i32>;
@group(0) @binding(2) var<storage, read> bias_values: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read_write> counts: array<atomic<u32>>;
@group(0) @binding(5) var<uniform> state: State;

const BAN = 0x80000000u;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (wid.x + wid.y * num.x) * 256u + local;
    let vocab = arrayLength(&out);
    if (i < min(state.biases, arrayLength(&bias_ids))) {
        let id = u32(bias_ids[i]);
        if (id < vocab) {
            out[id] = moved(out[id], max(bias_values[i], BANNED));
        }
    }
    if (i >= kept_ids() || id_back(i) >= vocab) {
        return;
    }
    let id = id_back(i);
    atomicAdd(&counts[id], 1u);
    // The n - 1 ids before this one are the last n - 1 of the history.
    let n = state.no_repeat;
    var repeats = n - 1u < kept_ids() - i; // where n is 0, more than any history has
    for (var back = 1u; repeats && back < n; back++) {
        repeats = id_back(i + back) == id_back(back - 1u);
    }
    if (repeats) {
        atomicOr(&counts[id], BAN);
    }
}
