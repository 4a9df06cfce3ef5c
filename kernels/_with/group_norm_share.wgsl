// with: grouped totals shares
// A team takes one share of a group: how many values, the group's first one, the share's mean less that, and the sum of
// squares about the mean. Reference: webxpu/ops/group_norm.py. x (N, C, L), found (groups, PARTS) of those four.

@group(0) @binding(0) var<storage, read> x: array<Real>;
@group(0) @binding(1) var<storage, read_write> found: array<vec4<f32>>;

@compute @workgroup_size(THREADS)
fn main(thread: Thread) {
    let job = team_line(thread, N * C / PER * PARTS);
    let count = PER * channel_length();
    let base = job / PARTS * count;
    let start = base + share_start(count, job % PARTS);
    let end = base + share_start(count, job % PARTS + 1u);
    let first = start + team_first(thread);
    let origin = f32(x[base]);
    let middle = team_sum(thread, 0u, total(first, end, team_step(), origin, 0.0, false)) / f32(end - start);
    let squares = team_sum(thread, 1u, total(first, end, team_step(), origin, middle, true));
    if (team_first(thread) == 0u) {
        found[job] = vec4<f32>(f32(end - start), origin, middle, squares);
    }
}
