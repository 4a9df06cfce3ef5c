// Attention of one row, head and part by one thread, for CPU adapters: there a workgroup barrier costs more than a whole
// part. The kernel declares H, G, WIDE (D / 4), PARTS, SCALE, q, cache, acc and stats, and what `paged` needs.

fn attend_thread(job: u32) {
    let part = job % PARTS;
    let head = job / PARTS % H;
    let row = job / PARTS / H;
    let kv_head = head / (H / G);
    let keys = select(0u, state.position + row + 1u, is_live(row));
    let step = (keys + PARTS - 1u) / PARTS;
    let start = min(part * step, keys);
    let end = min(start + step, keys);

    let query = (row * H + head) * WIDE;
    var largest = -0x1.fffffep127f;
    var weight = 0.0;
    var sums: array<vec4<f32>, 64>;
    for (var key = start; key < end; key++) {
        let k = (key_row(key) * G + kv_head) * WIDE;
        let v = k + VALUE_ROWS * G * WIDE;
        var products = vec4<f32>();
        for (var c = 0u; c < WIDE; c++) {
            products += q[query + c] * cache[k + c];
        }
        let score = dot(products, vec4<f32>(SCALE));
        if (score > largest) {
            let shrink = exp(largest - score);
            largest = score;
            weight *= shrink;
            for (var c = 0u; c < WIDE; c++) {
                sums[c] *= shrink;
            }
        }
        let share = exp(score - largest);
        weight += share;
        for (var c = 0u; c < WIDE; c++) {
            sums[c] += share * cache[v + c];
        }
    }
    for (var c = 0u; c < WIDE; c++) {
        acc[job * WIDE + c] = sums[c];
    }
    stats[job] = vec2<f32>(largest, weight);
}
