// Sums over x[first], x[first + step], ... before `end`. Blocks of 64 add up to blocks of 4,096 and those to the whole,
// so that a long line of one thread loses no more digits than a short one.

const BLOCK = 64u;

// Of the values less `origin` and then `middle`, or of the squares of that.
fn total(first: u32, end: u32, step: u32, origin: f32, middle: f32, squared: bool) -> f32 {
    var sum = 0.0;
    var at = first;
    while (at < end) {
        var blocks = 0.0;
        for (var i = 0u; i < BLOCK && at < end; i++) {
            var block = 0.0;
            for (var j = 0u; j < BLOCK && at < end; j++) {
                let value = (f32(x[at]) - origin) - middle;
                block += select(value, value * value, squared);
                at += step;
            }
            blocks += block;
        }
        sum += blocks;
    }
    return sum;
}
