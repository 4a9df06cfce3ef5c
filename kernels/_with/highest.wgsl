// with: banned
// Of STEPS * 256 candidates a workgroup keeps the MOST highest, in order, the lowest id first among equals. A candidate's
// place is how many beat it: no sort, one barrier. The kernel gives `candidates()`, how many there are, and
// `candidate(i)`. Where a workgroup has fewer than MOST, the rest is lower than every token.

struct Candidate {
    value: f32,
    id: u32,
}

override STEPS: u32; // at most 4
override MOST: u32; // at most 32

const NOBODY = Candidate(FORBIDDEN, 0xffffffffu);

@group(0) @binding(0) var<storage, read_write> high_values: array<f32>;
@group(0) @binding(1) var<storage, read_write> high_ids: array<u32>;

var<workgroup> rivals: array<Candidate, 1024>;

fn beats(a: Candidate, b: Candidate) -> bool {
    return a.value > b.value || (a.value == b.value && a.id < b.id);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let group = wid.x + wid.y * num.x;
    let first = group * STEPS * 256u;
    let count = min(candidates() - min(first, candidates()), STEPS * 256u);
    for (var i = thread; i < count; i += 256u) {
        rivals[i] = candidate(first + i);
    }
    workgroupBarrier();
    if ((group + 1u) * MOST > arrayLength(&high_values)) {
        return;
    }
    for (var i = thread; i < count; i += 256u) {
        let one = rivals[i];
        var place = 0u;
        for (var other = 0u; other < count; other++) {
            place += select(0u, 1u, beats(rivals[other], one));
        }
        if (place < MOST) {
            high_values[group * MOST + place] = one.value;
            high_ids[group * MOST + place] = one.id;
        }
    }
    for (var place = count + thread; place < MOST; place += 256u) {
        high_values[group * MOST + place] = NOBODY.value;
        high_ids[group * MOST + place] = NOBODY.id;
    }
}
