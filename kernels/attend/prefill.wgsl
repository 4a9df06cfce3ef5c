// with: state kv paged spans keys
// A workgroup attends one part of the keys for 16 rows of one query head: eight threads a row, 32 keys a tile. Keys and
// values pass through workgroup memory, 64 of their D columns at a time.
// Reference: webxpu/ops/attend.py. q (L, H, D), cache (P, 2, 64, G, D), pages (n,), table (P, D / 2, 2),
// acc (L, H, PARTS, D),
// stats (L, H, PARTS) of max and sum. D is a multiple of 4 and at most 256.

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

const ROWS = 16u;
const KEYS = 32u;
const THREADS = 128u;
const LANES = 8u; // threads a row
const LOWEST = -0x1.fffffep127f;
const CHUNK = 16u; // vec4 of a key or value in workgroup memory at a time
const STRIDE = CHUNK + 1u; // odd, so that neighbouring keys lie in different banks

var<workgroup> tile: array<vec4<f32>, KEYS * STRIDE>;
var<workgroup> queries: array<vec4<f32>, ROWS * STRIDE>;
var<workgroup> p: array<f32, ROWS * (KEYS + 1u)>;
var<workgroup> maxima: array<f32, THREADS>;

// Brings columns [chunk * 64, + 64) of 32 keys or values into workgroup memory. Past D the last column repeats: a query
// is 0 there, and sums of values are not stored.
fn load_tile(first: u32, last: u32, kv_head: u32, value_rows: u32, chunk: u32, thread: u32) {
    for (var i = thread; i < KEYS * CHUNK; i += THREADS) {
        let key = min(first + i / CHUNK, last);
        let c = chunk * CHUNK + i % CHUNK;
        let at = (key_row(key) + value_rows) * G + kv_head;
        if (value_rows == 0u) {
            tile[i / CHUNK * STRIDE + i % CHUNK] = key_quad(at, key, min(c, WIDE - 1u));
        } else {
            tile[i / CHUNK * STRIDE + i % CHUNK] = kv_quad(at, min(c, WIDE - 1u));
        }
    }
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let head = wid.y;
    let chunks = (WIDE + CHUNK - 1u) / CHUNK;
    let kv_head = head / (H / G);
    let part = wid.z;
    let total_rows = arrayLength(&q) / (H * WIDE);
    let row = wid.x * ROWS + thread / LANES;
    let lane = thread % LANES;
    let live = min(min(state.rows, total_rows), max(state.capacity, state.position) - state.position);

    // This row's keys, and those of all rows of the workgroup.
    let span = span_of(row, part);
    let top = min(wid.x * ROWS, live);
    let bottom = min(wid.x * ROWS + ROWS, live);
    // A later row's part starts and ends no earlier. Without a live row both are 0.
    let tiles_start = span_of(top, part).start;
    let tiles_end = select(0u, span_of(max(bottom, 1u) - 1u, part).end, bottom > top);

    var largest = LOWEST;
    var weight = 0.0;
    var sums: array<vec4<f32>, 8>;
    for (var base = tiles_start; base < tiles_end; base += KEYS) {
        var scores = vec4<f32>();
        for (var chunk = 0u; chunk < chunks; chunk++) {
            load_tile(base, tiles_end - 1u, kv_head, 0u, chunk, thread);
            for (var i = thread; i < ROWS * CHUNK; i += THREADS) {
                let c = chunk * CHUNK + i % CHUNK;
                let r = min(wid.x * ROWS + i / CHUNK, total_rows - 1u);
                let value = q[(r * H + head) * WIDE + min(c, WIDE - 1u)];
                queries[i / CHUNK * STRIDE + i % CHUNK] = select(vec4<f32>(), value, c < WIDE);
            }
            workgroupBarrier();
            for (var c = 0u; c < CHUNK; c++) {
                let query = queries[thread / LANES * STRIDE + c];
                scores += vec4<f32>(
                    dot(query, tile[lane * STRIDE + c]),
                    dot(query, tile[(lane + 8u) * STRIDE + c]),
                    dot(query, tile[(lane + 16u) * STRIDE + c]),
                    dot(query, tile[(lane + 24u) * STRIDE + c]),
                );
            }
            workgroupBarrier();
        }
        let key = vec4<u32>(base + lane) + vec4<u32>(0u, 8u, 16u, 24u);
        let visible = (key >= vec4<u32>(span.start)) & (key < vec4<u32>(span.end));
        scores = select(vec4<f32>(LOWEST), scores * SCALE, visible);
        maxima[thread] = max(max(scores.x, scores.y), max(scores.z, scores.w));
        workgroupBarrier();
        var most = largest;
        for (var other = 0u; other < LANES; other++) {
            most = max(most, maxima[thread / LANES * LANES + other]);
        }
        let shrink = exp(largest - most);
        largest = most;
        weight *= shrink;
        let shares = select(vec4<f32>(), exp(scores - most), visible);
        let p_row = thread / LANES * (KEYS + 1u);
        p[p_row + lane] = shares.x;
        p[p_row + lane + 8u] = shares.y;
        p[p_row + lane + 16u] = shares.z;
        p[p_row + lane + 24u] = shares.w;
        for (var chunk = 0u; chunk < chunks; chunk++) {
            load_tile(base, tiles_end - 1u, kv_head, VALUE_ROWS, chunk, thread);
            workgroupBarrier();
            var low = sums[2u * chunk] * shrink;
            var high = sums[2u * chunk + 1u] * shrink;
            for (var i = 0u; i < KEYS; i++) {
                let share = p[p_row + i];
                low += share * tile[i * STRIDE + lane];
                high += share * tile[i * STRIDE + lane + LANES];
                if (chunk == 0u) {
                    weight += share;
                }
            }
            sums[2u * chunk] = low;
            sums[2u * chunk + 1u] = high;
            workgroupBarrier();
        }
    }
    if (row >= total_rows) {
        return;
    }
    let job = (row * H + head) * PARTS + part;
    for (var i = 0u; i < 2u * chunks; i++) {
        if (i * LANES + lane < WIDE) {
            acc[job * WIDE + i * LANES + lane] = sums[i];
        }
    }
    if (lane == 0u) {
        stats[job] = vec2<f32>(largest, weight);
    }
}
