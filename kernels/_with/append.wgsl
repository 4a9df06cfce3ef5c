// Appends the token that a step chose. The kernel declares history and state, both read_write; one thread calls it.
// `make_room(position)` is that of fixed.wgsl or rolling.wgsl.

fn append(token: i32) {
    if (state.done != 0u) {
        return;
    }
    let position = make_room(state.position + state.rows);
    if (position < min(state.capacity, arrayLength(&history))) {
        history[(state.evicted + position) % arrayLength(&history)] = token;
    }
    state.position = position;
    state.rows = 1u;
    state.step += 1u;
    state.runs += 1u;
    var done = position + 1u > state.capacity;
    for (var i = 0u; i < min(state.stop_count, 16u); i++) {
        done = done || state.stops[i / 4u][i % 4u] == u32(token);
    }
    state.done = select(0u, 1u, done);
}
