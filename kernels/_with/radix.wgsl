// with: wide order everyone banned
// Thresholds without a sort: a histogram of one digit of 8 bits a pass, highest digit first, of values in the order of
// their bits. Passes 0 to 3 count for top-k, passes 4 to 7 weigh for top-p. Weights are whole numbers, so the sums are
// exact in any order; both they and the counts have 64 bits, low word first. Reference: webxpu/ops/sample.py.
// A workgroup of 256 threads takes STEPS * 256 consecutive logits.

// Binding 1: for each pass 256 low and 256 high words; then four words a pass of what the passes before found; then the
// largest value's bits and the threshold of top-k and top-n-sigma; then three words a workgroup, the moments of its
// logits about the largest: their sum, the sum of their squares, how many are not banned.
@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read_write> work: array<atomic<u32>>;

override STEPS: u32;

const BINS = 256u;
const PASS_WORDS = 512u;
const FOUND = 4096u;
const LARGEST = 4128u;
const KEPT = 4129u;
const MOMENTS = 4160u;

struct Found {
    prefix: u32, // the digits that are known
    need: vec2<u32>, // what values with this prefix have to add
}

var<workgroup> bins: array<vec2<u32>, 256>;
var<workgroup> sixteens: array<vec2<u32>, 16>;
var<workgroup> found: Found;
var<workgroup> low: array<atomic<u32>, 256>;
var<workgroup> high: array<atomic<u32>, 256>;

fn less64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// The part of a total that top-p asks for: top_p in units of 2^-32 times the total, at least 1.
fn target_of(total: vec2<u32>) -> vec2<u32> {
    let p = u32(state.top_p * 4294967296.0);
    let product = add64(vec2<u32>(total.y * p, multiply_high(total.y, p)), vec2<u32>(multiply_high(total.x, p), 0u));
    return select(product, vec2<u32>(1u, 0u), all(product == vec2<u32>()));
}

fn uses_top_k() -> bool {
    return state.temperature > 0.0 && state.top_k != 0u && state.top_k < arrayLength(&logits);
}

fn uses_top_p() -> bool {
    return state.temperature > 0.0 && state.top_p < 1.0;
}

fn uses_top_n_sigma() -> bool {
    return state.temperature > 0.0 && state.top_n_sigma > 0.0;
}

fn keep_moments(group: u32, thread: u32) {
    let largest = largest_logit();
    var sums = vec4<f32>();
    for (var step = 0u; step < STEPS; step++) {
        let i = (group * STEPS + step) * BINS + thread;
        if (i < arrayLength(&logits) && logits[i] > BANNED) {
            let below = logits[i] - largest;
            sums += vec4<f32>(below, below * below, 1.0, 0.0);
        }
    }
    sums = sum_of_everyone(thread, sums);
    if (thread < 3u && MOMENTS + group * 3u + thread < arrayLength(&work)) {
        atomicStore(&work[MOMENTS + group * 3u + thread], bitcast<u32>(sums[thread]));
    }
}

// The bits of the lowest logit that top-n-sigma keeps.
fn lowest_in_sigma(thread: u32) -> u32 {
    var sums = vec4<f32>();
    for (var at = MOMENTS + thread * 3u; at < arrayLength(&work); at += BINS * 3u) {
        let moments = vec3<u32>(atomicLoad(&work[at]), atomicLoad(&work[at + 1u]), atomicLoad(&work[at + 2u]));
        sums += vec4<f32>(bitcast<vec3<f32>>(moments), 0.0);
    }
    sums = sum_of_everyone(thread, sums);
    let count = max(sums.z, 1.0);
    let mean = sums.x / count;
    let sigma = sqrt(max(0.0, sums.y / count - mean * mean));
    return order_bits(largest_logit() - state.top_n_sigma * sigma);
}

fn largest_logit() -> f32 {
    return from_order(atomicLoad(&work[LARGEST]));
}

// The digit that a finished pass decides: the largest with at least `need` in it and above it.
fn pick(done: u32, thread: u32) -> Found {
    let level = done % 4u;
    let place = done * PASS_WORDS + thread;
    let bin = vec2<u32>(atomicLoad(&work[place]), atomicLoad(&work[place + BINS]));
    bins[thread] = bin;
    workgroupBarrier();
    if (thread < 16u) {
        var sum = vec2<u32>();
        for (var i = 0u; i < 16u; i++) {
            sum = add64(sum, bins[thread * 16u + i]);
        }
        sixteens[thread] = sum;
    }
    workgroupBarrier();
    var above = vec2<u32>();
    var total = vec2<u32>();
    for (var i = 0u; i < 16u; i++) {
        total = add64(total, sixteens[i]);
        if (i > thread / 16u) {
            above = add64(above, sixteens[i]);
        }
    }
    for (var i = thread + 1u; i % 16u != 0u; i++) {
        above = add64(above, bins[i]);
    }
    var before = Found(0u, select(target_of(total), vec2<u32>(state.top_k, 0u), done < 4u));
    if (level != 0u) {
        let at = FOUND + done * 4u;
        before = Found(atomicLoad(&work[at]), vec2<u32>(atomicLoad(&work[at + 1u]), atomicLoad(&work[at + 2u])));
    }
    if (less64(above, before.need) && !less64(add64(above, bin), before.need)) {
        found = Found(before.prefix | (thread << (24u - 8u * level)), subtract64(before.need, above));
    }
    return workgroupUniformLoad(&found);
}

// The same for the workgroups of this pass and kept for the next.
fn pick_for(pass_number: u32, group: u32, thread: u32) -> Found {
    let result = pick(pass_number - 1u, thread);
    if (group == 0u && thread == 0u) {
        let at = FOUND + pass_number * 4u;
        atomicStore(&work[at], result.prefix);
        atomicStore(&work[at + 1u], result.need.x);
        atomicStore(&work[at + 2u], result.need.y);
    }
    return result;
}

// Whether the digits above `level` are those of the prefix.
fn has_prefix(bits: u32, prefix: u32, level: u32) -> bool {
    return ((bits ^ prefix) & ~(0xffffffffu >> (8u * level))) == 0u;
}

fn tally(bits: u32, level: u32, weight: u32) {
    let bin = (bits >> (24u - 8u * level)) & 255u;
    let before = atomicAdd(&low[bin], weight);
    if (before + weight < before) {
        atomicAdd(&high[bin], 1u);
    }
}

// Adds the workgroup's histogram to the pass's.
fn flush(pass_number: u32, thread: u32) {
    workgroupBarrier();
    let place = pass_number * PASS_WORDS + thread;
    let more = atomicLoad(&low[thread]);
    var carry = atomicLoad(&high[thread]);
    if (more != 0u) {
        let before = atomicAdd(&work[place], more);
        carry += select(0u, 1u, before + more < before);
    }
    if (carry != 0u) {
        atomicAdd(&work[place + BINS], carry);
    }
}
