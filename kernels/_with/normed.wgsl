// A value less its line's mean, over the deviation, times weight, plus bias. The line's first value is taken off before
// anything is added, and the mean kept apart from it: a large mean then costs no digits of small deviations.

override EPS: f32;

struct Moments {
    origin: f32, // the first value
    middle: f32, // the mean, less the origin
    scale: f32, // one over the standard deviation (biased, eps inside the root)
}

fn scale_of(squares: f32, count: f32) -> f32 {
    return 1.0 / sqrt(squares / count + EPS);
}

fn normed(moments: Moments, value: Real, weight: Real, bias: Real) -> Real {
    return Real(((f32(value) - moments.origin) - moments.middle) * moments.scale * f32(weight) + f32(bias));
}
