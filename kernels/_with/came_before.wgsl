// with: state
// The ids that came before, a ring: see `came_before` in webxpu/ops/penalize.py. The kernel declares history and state.

// How many ids came, those that the ring has lost included.
fn total_ids() -> u32 {
    return state.evicted + state.position + state.rows;
}

// How many of them the ring still has.
fn kept_ids() -> u32 {
    return min(total_ids(), arrayLength(&history));
}

// The id that came `back` places before the last one: 0 is the last.
fn id_back(back: u32) -> u32 {
    return u32(history[(total_ids() - 1u - back) % arrayLength(&history)]);
}
