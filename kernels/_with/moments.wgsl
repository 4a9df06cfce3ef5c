// with: normed totals
// Mean and variance of a team's line of x in two passes.

// Of the `count` values from x[base].
fn moments_of(thread: Thread, base: u32, count: u32) -> Moments {
    let first = base + team_first(thread);
    let end = base + count;
    let origin = f32(x[base]);
    let middle = team_sum(thread, 0u, total(first, end, team_step(), origin, 0.0, false)) / f32(count);
    let squares = team_sum(thread, 1u, total(first, end, team_step(), origin, middle, true));
    return Moments(origin, middle, scale_of(squares, f32(count)));
}
