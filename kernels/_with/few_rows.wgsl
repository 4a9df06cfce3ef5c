// A grid for a few rows, each computed by as many workgroups: those that read the same weights lie side by side. One
// pipeline serves one row and a few, so that a row has the same bits in both.

// The row that a workgroup computes, and its number among the row's.
fn row_of(group: u32, rows: u32) -> vec2<u32> {
    if (rows == 1u) {
        return vec2<u32>(0u, group);
    }
    return vec2<u32>(group % rows, group / rows);
}
