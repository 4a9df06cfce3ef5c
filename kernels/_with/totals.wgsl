// Sums over x[first], x[first + step], ... before `end`. They are taken in blocks of 64, so that a long line loses no
// more digits than a short one.

const BLOCK = 64u;

// Of the values less `origin`.
fn total(first: u32, end: u32, step: u32, origin: f32) -> f32 {
    var sum = 0.0;
    var at = first;
    while (at < end) {
        var block = 0.0;
        for (var i = 0u; i < BLOCK && at < end; i++) {
            block += f32(x[at]) - origin;
            at += step;
        }
        sum += block;
    }
    return sum;
}

// Of the squares of the values less `origin` and then `middle`.
fn total_squares(first: u32, end: u32, step: u32, origin: f32, middle: f32) -> f32 {
    var sum = 0.0;
    var at = first;
    while (at < end) {
        var block = 0.0;
        for (var i = 0u; i < BLOCK && at < end; i++) {
            let deviation = (f32(x[at]) - origin) - middle;
            block += deviation * deviation;
            at += step;
        }
        sum += block;
    }
    return sum;
}
