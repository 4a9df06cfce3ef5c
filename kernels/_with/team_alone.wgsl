// A team of one thread, which works on a line by itself, THREADS of them in a workgroup: no barrier, which is what costs
// most on a CPU adapter. Every part `team_...` offers the same functions.

override THREADS: u32;

struct Thread {
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
}

// The team's line. Past the end the last line is computed again, as in the other parts.
fn team_line(thread: Thread, lines: u32) -> u32 {
    return min((thread.wid.x + thread.wid.y * thread.num.x) * THREADS + thread.index, lines - 1u);
}

fn team_first(thread: Thread) -> u32 {
    return 0u;
}

fn team_step() -> u32 {
    return 1u;
}

fn team_sum(thread: Thread, round: u32, value: f32) -> f32 {
    return value;
}

fn team_highest(thread: Thread, value: u32) -> u32 {
    return value;
}
