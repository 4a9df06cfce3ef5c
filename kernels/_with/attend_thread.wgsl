// Attention of one row, head and part by one thread, for CPU adapters: there a workgroup barrier costs more than a whole
// part. The kernel declares H, G, WIDE (D / 4), PARTS, SCALE, q, acc and stats, and what `spans`, `keys` and `kv` need.

fn attend_thread(job: u32) {
    let part = job % PARTS;
    let head = job / PARTS % H;
    let row = job / PARTS / H;
    let kv_head = head / (H / G);
    let span = span_of(row, part);

    let query = (row * H + head) * WIDE;
    var largest = -0x1.fffffep127f;
    var weight = 0.0;
    var sums: array<vec4<f32>, 64>;
    for (var key = span.start; key < span.end; key++) {
        let k = key_row(key) * G + kv_head;
        let v = k + VALUE_ROWS * G;
        var products = vec4<f32>();
        for (var c = 0u; c < WIDE; c++) {
            products += q[query + c] * key_quad(k, key, c);
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
            sums[c] += share * kv_quad(v, c);
        }
    }
    for (var c = 0u; c < WIDE; c++) {
        acc[job * WIDE + c] = sums[c];
    }
    stats[job] = vec2<f32>(largest, weight);
}
