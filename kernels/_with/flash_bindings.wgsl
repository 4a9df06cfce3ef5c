// with: attention_qk attention_values
// What attends in one pass: q (HEADS, M, D), k (HEADS, S, D), v (HEADS, S, DV), mask (mb, mh, mr, S) as bits,
// offset (1,), out (HEADS, M, DV).

@group(0) @binding(0) var<storage, read> q: array<Real>;
@group(0) @binding(1) var<storage, read> k: array<Real>;
@group(0) @binding(2) var<storage, read> v: array<Real>;
@group(0) @binding(3) var<storage, read> mask: array<u32>;
@group(0) @binding(4) var<storage, read> offset: array<i32>;
@group(0) @binding(5) var<storage, read_write> out: array<Real>;

// A row that sees no key has weight 0 and is zeros.
fn normalised(sum: vec4<f32>, weight: f32) -> vec4<f32> {
    return select(sum / weight, vec4<f32>(), weight == 0.0);
}
