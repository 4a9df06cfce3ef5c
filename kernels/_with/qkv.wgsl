// Where a pair of q, k or v values goes: q and k are rotated, k and v go into the cache.
// The kernel declares table (P, D / 2) of cos and sin, cache, pages, q (L, H, D) and state.

override HEADS: u32;
override KV_HEADS: u32;
override D: u32;
override HALF: u32; // 1: a pair lies D / 2 apart, 0: side by side

struct Pair {
    columns: vec2<u32>, // of the row of q, k and v side by side
    places: vec2<u32>, // in q or in the cache
    rotation: vec2<f32>,
    to_cache: bool,
    writes: bool,
}

// Pair `unit` of row `row`. Loads what the store needs, so that it is there when the sums are.
fn pair_of(row: u32, unit: u32) -> Pair {
    let head = unit / (D / 2u);
    let j = unit % (D / 2u);
    let inside = select(vec2<u32>(2u * j, 2u * j + 1u), vec2<u32>(j, j + D / 2u), HALF == 1u);
    let position = state.position + row;
    var rotation = vec2<f32>(1.0, 0.0);
    if (head < HEADS + KV_HEADS) {
        rotation = table[min(position, arrayLength(&table) / (D / 2u) - 1u) * (D / 2u) + j];
    }
    let columns = head * D + inside;
    if (head < HEADS) {
        return Pair(columns, row * HEADS * D + columns, rotation, false, true);
    }
    let is_value = head >= HEADS + KV_HEADS;
    let g = head - HEADS - select(0u, KV_HEADS, is_value);
    let cache_row = key_row(position) + select(0u, VALUE_ROWS, is_value);
    return Pair(columns, (cache_row * KV_HEADS + g) * D + inside, rotation, true, is_live(row));
}

fn store_pair(pair: Pair, value: vec2<f32>) {
    let c = pair.rotation.x;
    let s = pair.rotation.y;
    let rotated = vec2<f32>(value.x * c - value.y * s, value.x * s + value.y * c);
    if (!pair.to_cache) {
        q[pair.places.x] = rotated.x;
        q[pair.places.y] = rotated.y;
    } else if (pair.writes) {
        cache[pair.places.x] = rotated.x;
        cache[pair.places.y] = rotated.y;
    }
}
