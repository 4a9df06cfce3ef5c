// A cache that drops the page after its sinks where it is full. The kernel declares state and pages, both read_write.

const PAGE = 64u;

// The next position.
fn make_room(position: u32) -> u32 {
    if (position < state.capacity || state.sinks == 0u || state.sinks + PAGE > state.capacity) {
        return position;
    }
    let first = state.sinks / PAGE;
    let last = min((state.capacity + PAGE - 1u) / PAGE, arrayLength(&pages)) - 1u;
    let dropped = pages[first];
    for (var i = first; i < last; i++) {
        pages[i] = pages[i + 1u];
    }
    pages[last] = dropped;
    state.evicted += PAGE;
    return position - PAGE;
}
