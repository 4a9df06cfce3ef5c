// with: weights
// A thread unpacks 32 weights of a picked row.
// Reference: webxpu/ops/gather.py. weights (N, K), the table; indices (rows,), out (rows, K).

override N: u32;
override K: u32;

@group(0) @binding(1) var<storage, read> indices: array<i32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

fn put(first: u32, column: u32, values: vec4<f32>) {
    for (var i = 0u; i < 4u; i++) {
        if (column + i < K) {
            out[first + column + i] = values[i];
        }
    }
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let across = (K + 31u) / 32u;
    let i = (wid.x + wid.y * num.x) * 64u + local;
    let slot = i / across;
    let block = i % across;
    if (slot >= arrayLength(&out) / K) {
        return;
    }
    var values: array<vec4<f32>, 8>;
    let row = u32(indices[slot]); // a negative index becomes one past every table
    if (row < N) {
        values = unpack32(row, block);
    }
    put(slot * K, block * 32u, values[0]);
    put(slot * K, block * 32u + 4u, values[1]);
    put(slot * K, block * 32u + 8u, values[2]);
    put(slot * K, block * 32u + 12u, values[3]);
    put(slot * K, block * 32u + 16u, values[4]);
    put(slot * K, block * 32u + 20u, values[5]);
    put(slot * K, block * 32u + 24u, values[6]);
    put(slot * K, block * 32u + 28u, values[7]);
}
