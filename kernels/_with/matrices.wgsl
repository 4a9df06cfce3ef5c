// Matrices of 32-bit words, whatever they mean: x (BATCH, R, C) to out (BATCH, C, R). Of R and C the larger is 0 and
// counted from the length instead, so that a length that changes from call to call compiles nothing new.

override BATCH: u32;
override R: u32;
override C: u32;

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

fn matrix_words() -> u32 {
    return arrayLength(&x) / BATCH;
}

fn rows() -> u32 {
    return select(R, matrix_words() / max(C, 1u), R == 0u);
}

fn columns() -> u32 {
    return select(C, matrix_words() / max(R, 1u), C == 0u);
}
