// with: state kv paged spans keys
enable subgroups;
requires subgroup_id;
// A workgroup attends one part of the keys for one query head of a row: four lanes score a key, 128 keys a
// tile; then every thread sums one vec4 of the values over a share of the tile's keys.
// Reference: webxpu/ops/attend.py. q (L, H, D), cache (P, 2, 64, G, D), pages (n,), table (P, D / 2, 2),
// acc (L, H, PARTS, D),
// stats (L, H, PARTS) of max and sum. D is a multiple of 4 and at most 512.

override H: u32;
override G: u32;
override WIDE: u32; // D / 4
override PARTS: u32;
override SCALE: f32;
override WINDOW: u32; // keys that a row sees at most; 0: all

@group(0) @binding(0) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> cache: array<KvWord>;
@group(0) @binding(2) var<storage, read> pages: array<i32>;
@group(0) @binding(3) var<storage, read> table: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> acc: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> stats: array<vec2<f32>>;
@group(0) @binding(6) var<uniform> state: State;

const THREADS = 128u;
const TILE = 128u;
const LOWEST = -0x1.fffffep127f;

var<workgroup> scores: array<f32, TILE>;
var<workgroup> sums: array<vec4<f32>, THREADS>;
var<workgroup> weights: array<f32, THREADS>;

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
) {
    let job = min(wid.x + wid.y * num.x, arrayLength(&stats) - 1u); // a folded grid may have a few too many
    let thread = subgroup * lanes + lane;
    let query = job / PARTS;
    let row = query / H;
    let head = query % H;
    let kv_head = head / (H / G);
    let span = span_of(row, job % PARTS);

    let column = thread % WIDE;
    let share = thread / WIDE;
    let shares = THREADS / WIDE; // of a tile's keys; threads of a broken share work for nothing
    var largest = LOWEST;
    var sum = vec4<f32>();
    var weight = 0.0;
    for (var tile = span.start; tile < span.end; tile += TILE) {
        let count = min(TILE, span.end - tile);
        // Asked for before the scores are made, so that both are under way at once.
        let early = kv_quad((key_row(tile + min(share, count - 1u)) + VALUE_ROWS) * G + kv_head, column);
        for (var i = 0u; i < count; i += THREADS / 4u) {
            let key = i + thread / 4u;
            let position = tile + min(key, count - 1u);
            let k = key_row(position) * G + kv_head;
            var products = vec4<f32>();
            for (var c = thread % 4u; c < WIDE; c += 4u) {
                products += q[query * WIDE + c] * key_quad(k, position, c);
            }
            var score = dot(products, vec4<f32>(SCALE));
            score += quadSwapX(score);
            score += quadSwapY(score);
            if (thread % 4u == 0u) {
                scores[key] = score; // past `count` never read
            }
        }
        workgroupBarrier();
        var most = largest;
        for (var key = lane; key < count; key += lanes) {
            most = max(most, scores[key]);
        }
        most = subgroupMax(most);
        let shrink = exp(largest - most);
        largest = most;
        sum *= shrink;
        weight *= shrink;
        if (share < count) {
            let first = exp(scores[share] - largest);
            sum += first * early;
            weight += first;
            for (var key = share + shares; key < count; key += shares) {
                let p = exp(scores[key] - largest);
                sum += p * kv_quad((key_row(tile + key) + VALUE_ROWS) * G + kv_head, column);
                weight += p;
            }
        }
        workgroupBarrier();
    }
    sums[thread] = sum;
    weights[thread] = weight;
    workgroupBarrier();
    if (thread < WIDE) {
        for (var other = 1u; other < shares; other++) {
            sum += sums[other * WIDE + thread];
            weight += weights[other * WIDE + thread];
        }
        acc[job * WIDE + thread] = sum;
        if (thread == 0u) {
            stats[job] = vec2<f32>(largest, weight);
        }
    }
}
