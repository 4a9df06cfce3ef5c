// with: flat_map banned
// Logits, but for those of forbidden tokens. Reference: webxpu/ops/mask.py. logits, out (V,), allowed (ceil(V / 32),).

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> allowed: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

alias Value = f32;

fn value_at(i: u32) -> f32 {
    return select(FORBIDDEN, logits[i], ((allowed[i / 32u] >> (i % 32u)) & 1u) == 1u);
}
