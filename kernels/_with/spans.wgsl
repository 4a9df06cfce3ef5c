// Which keys a row attends, and which of them a part takes. The kernel declares PARTS and WINDOW, and what `paged` needs.

struct Span {
    start: u32,
    end: u32,
}

fn span_of(row: u32, part: u32) -> Span {
    let keys = select(0u, state.position + row + 1u, is_live(row));
    // A window of 0 is none.
    let first = select(0u, keys - min(keys, WINDOW), WINDOW > 0u);
    let step = (keys - first + PARTS - 1u) / PARTS;
    let start = min(first + part * step, keys);
    return Span(start, min(start + step, keys));
}
