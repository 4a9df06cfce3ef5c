// A team is a workgroup of THREADS that works on one line of values, each thread on every THREADS-th of them; what they
// hold meets within each subgroup, then across them after one barrier. Every part `team_...` offers the same functions.
enable subgroups;
requires subgroup_id;

override THREADS: u32;

struct Thread {
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_size) size: u32,
    @builtin(subgroup_invocation_id) lane: u32,
}

// One a subgroup, at most THREADS / 4 = 64, for each of two rounds.
var<workgroup> partial_sums: array<f32, 128>;
var<workgroup> partial_highest: array<u32, 64>;

// The team's line. Past the end the last line is computed again: barriers need all threads, and what is written past an
// array may land on its last value, or not, so no test can hold this.
fn team_line(thread: Thread, lines: u32) -> u32 {
    return min(thread.wid.x + thread.wid.y * thread.num.x, lines - 1u);
}

// Where in the line the thread begins, and how far it is to its next value.
fn team_first(thread: Thread) -> u32 {
    return thread.subgroup * thread.size + thread.lane;
}

fn team_step() -> u32 {
    return THREADS;
}

// The sum of the threads' values, for all of them. Rounds 0 and 1 have places of their own, so neither waits.
fn team_sum(thread: Thread, round: u32, value: f32) -> f32 {
    let sum = subgroupAdd(value);
    if (thread.lane == 0u) {
        partial_sums[round * 64u + thread.subgroup] = sum;
    }
    workgroupBarrier();
    var total = 0.0;
    for (var i = 0u; i < thread.subgroups; i++) {
        total += partial_sums[round * 64u + i];
    }
    return total;
}

// The highest of the threads' values, for all of them. Once a kernel.
fn team_highest(thread: Thread, value: u32) -> u32 {
    var highest = subgroupMax(value);
    if (thread.lane == 0u) {
        partial_highest[thread.subgroup] = highest;
    }
    workgroupBarrier();
    for (var i = 0u; i < thread.subgroups; i++) {
        highest = max(highest, partial_highest[i]);
    }
    return highest;
}
