// with: best
// Candidates for the next token. The kernel declares values and ids, both (n,).

// The id with the highest value, the lowest on ties; only thread 0 of the 256 gets it.
fn best_id(local: u32) -> i32 {
    let count = arrayLength(&values);
    var value = values[min(local, count - 1u)];
    var id = ids[min(local, count - 1u)];
    for (var i = local + 256u; i < count; i += 256u) {
        if (wins(values[i], ids[i], value, id)) {
            value = values[i];
            id = ids[i];
        }
    }
    return best_ids[best_thread(local, value, id)];
}
