// Memory of `fft` for a workgroup of THREADS lanes: its own.

override THREADS: u32;

var<workgroup> work: array<vec2<f32>, 2u * SIZE>;

fn work_get(i: u32) -> vec2<f32> {
    return work[i];
}

fn work_put(i: u32, value: vec2<f32>) {
    work[i] = value;
}

fn meet() {
    workgroupBarrier();
}
