// with: attention_keys attention_values
// What multiplies probabilities and values: probs (HEADS, M, S), v (HEADS, S, DV), offset (1,), out (HEADS, M, DV).
// Keys past those that a row sees are not read: a cache may hold anything there.

@group(0) @binding(0) var<storage, read> probs: array<Real>;
@group(0) @binding(1) var<storage, read> v: array<Real>;
@group(0) @binding(2) var<storage, read> offset: array<i32>;
@group(0) @binding(3) var<storage, read_write> out: array<Real>;
