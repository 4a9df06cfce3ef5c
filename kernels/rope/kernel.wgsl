// with: flat
// A workgroup turns 1,024 pairs of channels: pair fastest, then head, then row.
// Reference: webxpu/ops/rope.py. x (L, H, D), positions (L,), table (P, D / 2) of (cos, sin), out (L, H, D).

override H: u32;
override D: u32;
override P: u32;
override HALF: u32; // 0: channels 2 i and 2 i + 1 are a pair; 1: channels i and i + D / 2

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
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&out) / 2u) {
            let pair = i % (D / 2u);
            let head = i / (D / 2u);
            let position = u32(clamp(positions[head / H], 0, i32(P) - 1));
            let turn = table[position * (D / 2u) + pair];
            let first = head * D + select(2u * pair, pair, HALF == 1u);
            let second = first + select(1u, D / 2u, HALF == 1u);
            let a = x[first];
            let b = x[second];
            out[first] = a * turn.x - b * turn.y;
            out[second] = a * turn.y + b * turn.x;
        }
    }
}
