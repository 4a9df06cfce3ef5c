// A grid for a few rows of x, each computed by as many workgroups: those that read the same weights lie side by side. The
// kernel declares x and K.

// The row that a workgroup computes, and its number among the row's.
fn row_of(group: u32) -> vec2<u32> {
    let rows = arrayLength(&x) / (K / 4u);
    if (rows == 1u) {
        return vec2<u32>(0u, group);
    }
    return vec2<u32>(group % rows, group / rows);
}
