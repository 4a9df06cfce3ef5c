// Joins the parts that attention was split into. The kernel declares acc (.., PARTS, D), stats (.., PARTS) of max and sum,
// D and PARTS.

// vec4 `quad` of the rows of (H, D).
fn joined(quad: u32) -> vec4<f32> {
    let first = quad / (D / 4u) * PARTS;
    let column = quad % (D / 4u);
    var largest = stats[first].x;
    for (var part = 1u; part < PARTS; part++) {
        largest = max(largest, stats[first + part].x);
    }
    var sum = vec4<f32>();
    var weight = 0.0;
    for (var part = 0u; part < PARTS; part++) {
        let stat = stats[first + part];
        let share = exp(stat.x - largest);
        sum += share * acc[(first + part) * (D / 4u) + column];
        weight += share * stat.y;
    }
    // A row without keys has weight 0 and is zeros.
    return select(sum / weight, vec4<f32>(), weight == 0.0);
}
