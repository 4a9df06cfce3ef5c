// with: flat rope_pair
// A workgroup turns 1,024 pairs of channels: pair fastest, then head, then row.
// Reference: webxpu/ops/rope.py. x (L, H, D), positions (L,), table (P, D / 2) of (cos, sin), out (L, H, D).

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> positions: array<i32>;
@group(0) @binding(2) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let last = i32(arrayLength(&table) / (D / 2u)) - 1;
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&out) / 2u) {
            let pair = i % (D / 2u);
            let head = i / (D / 2u);
            let position = u32(clamp(positions[head / H], 0, last));
            turn_pair(head, 0u, D, pair, table[position * (D / 2u) + pair]);
        }
    }
}
