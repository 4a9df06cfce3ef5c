// Where a pair of q, k or v values goes: q and k are turned, k and v go into the cache.
// The kernel declares table (P, D / 2) of cos and sin, cache, pages, bias ((H + 2 G) * D,), q (L, H, D) and state.

override HEADS: u32;
override KV_HEADS: u32;
override D: u32;
override HALF: u32; // 1: a pair lies D / 2 apart, 0: side by side
override TURNED: u32; // heads that turn, of q, k and v side by side
override BIASED: u32; // 1: bias is added

struct Pair {
    columns: vec2<u32>, // of the row of q, k and v side by side
    place: u32, // row of (.., D) in q or in the cache
    first: u32, // of the head's values
    rotation: vec2<f32>,
    bias: vec2<f32>,
    to_cache: bool,
    writes: bool,
}

fn pair_apart() -> u32 {
    return select(1u, D / 2u, HALF == 1u);
}

// Pair `unit` of row `row`. Loads what the store needs, so that it is there when the sums are.
fn pair_of(row: u32, unit: u32) -> Pair {
    let head = unit / (D / 2u);
    let j = unit % (D / 2u);
    let first = select(2u * j, j, HALF == 1u);
    let position = state.position + row;
    var rotation = vec2<f32>(1.0, 0.0);
    if (head < TURNED) {
        rotation = table[min(position, arrayLength(&table) / (D / 2u) - 1u) * (D / 2u) + j];
    }
    let columns = head * D + first + vec2<u32>(0u, pair_apart());
    var added = vec2<f32>();
    if (BIASED == 1u) {
        added = vec2<f32>(bias[columns.x], bias[columns.y]);
    }
    if (head < HEADS) {
        return Pair(columns, row * HEADS + head, first, rotation, added, false, true);
    }
    let is_value = head >= HEADS + KV_HEADS;
    let g = head - HEADS - select(0u, KV_HEADS, is_value);
    let cache_row = key_row(position) + select(0u, VALUE_ROWS, is_value);
    return Pair(columns, cache_row * KV_HEADS + g, first, rotation, added, true, is_live(row));
}

fn store_pair(pair: Pair, sums: vec2<f32>) {
    var value = sums;
    if (BIASED == 1u) {
        value += pair.bias;
    }
    let c = pair.rotation.x;
    let s = pair.rotation.y;
    let rotated = vec2<f32>(value.x * c - value.y * s, value.x * s + value.y * c);
    if (!pair.to_cache) {
        q[pair.place * D + pair.first] = rotated.x;
        q[pair.place * D + pair.first + pair_apart()] = rotated.y;
    } else if (pair.writes) {
        kv_store_pair(pair.place, pair.first, pair_apart(), rotated);
    }
}
