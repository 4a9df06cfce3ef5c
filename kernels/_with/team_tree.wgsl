// A team is a workgroup of THREADS that works on one line of values, each thread on every THREADS-th of them; what they
// hold meets in a tree. Every part `team_...` offers the same functions.

override THREADS: u32;

struct Thread {
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
}

var<workgroup> partial_sums: array<f32, THREADS>;
var<workgroup> partial_highest: array<u32, THREADS>;

// The team's line. Past the end the last line is computed again: barriers need all threads, and what is written past an
// array may land on its last value, or not, so no test can hold this.
fn team_line(thread: Thread, lines: u32) -> u32 {
    return min(thread.wid.x + thread.wid.y * thread.num.x, lines - 1u);
}

// Where in the line the thread begins, and how far it is to its next value.
fn team_first(thread: Thread) -> u32 {
    return thread.index;
}

fn team_step() -> u32 {
    return THREADS;
}

// The sum of the threads' values, for all of them. Rounds count up from 0: the next one waits until this one is read.
fn team_sum(thread: Thread, round: u32, value: f32) -> f32 {
    if (round > 0u) {
        workgroupBarrier();
    }
    partial_sums[thread.index] = value;
    workgroupBarrier();
    for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
        if (thread.index < stride) {
            partial_sums[thread.index] += partial_sums[thread.index + stride];
        }
        workgroupBarrier();
    }
    return partial_sums[0];
}

// The highest of the threads' values, for all of them. Once a kernel.
fn team_highest(thread: Thread, value: u32) -> u32 {
    partial_highest[thread.index] = value;
    workgroupBarrier();
    for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
        if (thread.index < stride) {
            partial_highest[thread.index] =
                max(partial_highest[thread.index], partial_highest[thread.index + stride]);
        }
        workgroupBarrier();
    }
    return partial_highest[0];
}
