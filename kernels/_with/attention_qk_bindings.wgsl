// with: attention_qk
// What computes scores: q (HEADS, M, D), k (HEADS, S, D), mask (mb, mh, mr, S) as bits, offset (1,), and scores
// (HEADS, M, S), float32 as bits.

@group(0) @binding(0) var<storage, read> q: array<Real>;
@group(0) @binding(1) var<storage, read> k: array<Real>;
@group(0) @binding(2) var<storage, read> mask: array<u32>;
@group(0) @binding(3) var<storage, read> offset: array<i32>;
@group(0) @binding(4) var<storage, read_write> scores: array<u32>;
