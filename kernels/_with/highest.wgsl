// with: banned
// Of 1,024 candidates a workgroup keeps the MOST highest, in order, the lowest id first among equals. A candidate's place
// is how many come before it: first among the best of each thread's four, which leaves those of MOST threads, then among
// these. No sort, two barriers. The kernel gives `candidates()`, how many there are, and `candidate(i)`. Where a workgroup
// has fewer than MOST, the rest is lower than every token.

struct Candidate {
    value: f32,
    id: u32,
}

override MOST: u32; // at most 32

const STEPS = 4u;
const NOBODY = Candidate(FORBIDDEN, 0xffffffffu);

@group(0) @binding(0) var<storage, read_write> high_values: array<f32>;
@group(0) @binding(1) var<storage, read_write> high_ids: array<u32>;

var<workgroup> rivals: array<Candidate, 256>;
var<workgroup> finalists: array<Candidate, 128>;

// Whether a comes before b; `earlier` decides where both are nobody.
fn before(a: Candidate, b: Candidate, earlier: bool) -> bool {
    return a.value > b.value || (a.value == b.value && (a.id < b.id || (a.id == b.id && earlier)));
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let group = wid.x + wid.y * num.x;
    var own: array<Candidate, 4>;
    var best = NOBODY;
    for (var step = 0u; step < STEPS; step++) {
        let i = (group * STEPS + step) * 256u + thread;
        own[step] = NOBODY;
        if (i < candidates()) {
            own[step] = candidate(i);
        }
        if (before(own[step], best, false)) {
            best = own[step];
        }
    }
    rivals[thread] = best;
    workgroupBarrier();
    var place = 0u;
    for (var other = 0u; other < 256u; other++) {
        place += select(0u, 1u, before(rivals[other], best, other < thread));
    }
    if (place < MOST) {
        for (var step = 0u; step < STEPS; step++) {
            finalists[place * STEPS + step] = own[step];
        }
    }
    workgroupBarrier();
    if (thread >= MOST * STEPS || (group + 1u) * MOST > arrayLength(&high_values)) {
        return;
    }
    let one = finalists[thread];
    place = 0u;
    for (var other = 0u; other < MOST * STEPS; other++) {
        place += select(0u, 1u, before(finalists[other], one, other < thread));
    }
    if (place < MOST) {
        high_values[group * MOST + place] = one.value;
        high_ids[group * MOST + place] = one.id;
    }
}
