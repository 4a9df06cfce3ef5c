// The groups of a group norm over x (N, C, L): N * C / PER lines of PER channels and so PER * L values each, one behind
// the other. L is taken from x's length, so that another one compiles nothing new.

override N: u32;
override C: u32;
override PER: u32;
override SPARE: u32; // values that x's binding has past its end: the other half of the last word, where that matters

fn channel_length() -> u32 {
    return (arrayLength(&x) - SPARE) / (N * C);
}
