// How many keys a query row of grouped attention sees. The query heads of one kv head lie side by side in q, so kv head
// n of the HEADS in the dispatch has rows n * M to n * M + M - 1, M = GROUP * L, and row r of them has position r % L.
// The kernel declares offset (1,), which is not read where OFFSET is 0.

override HEADS: u32;
override GROUP: u32;
override CAUSAL: u32;
override OFFSET: u32;

fn seen_at(position: u32, keys: u32) -> u32 {
    if (CAUSAL == 0u) {
        return keys;
    }
    if (OFFSET == 0u) {
        return min(keys, position + 1u);
    }
    return min(keys, position + 1u + u32(max(offset[0], 0)));
}

fn keys_of_row(row: u32, length: u32, keys: u32) -> u32 {
    return seen_at(row % length, keys);
}

// The most that a row from `first` to `last` sees. Where they are of several heads, the last position is among them.
fn keys_of_rows(first: u32, last: u32, length: u32, keys: u32) -> u32 {
    return seen_at(select(length - 1u, last % length, first / length == last / length), keys);
}
