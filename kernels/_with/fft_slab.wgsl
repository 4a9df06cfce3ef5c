// Memory of `fft` in a buffer, binding 5, 2 SIZE values for each of `slabs()` that work at the same time; `slab` is whose
// turn it is. The kernel gives `meet()`.

override THREADS: u32;

@group(0) @binding(5) var<storage, read_write> work: array<vec2<f32>>;

var<private> slab: u32;

fn slabs() -> u32 {
    return arrayLength(&work) / (2u * SIZE);
}

fn work_get(i: u32) -> vec2<f32> {
    return work[slab * 2u * SIZE + i];
}

fn work_put(i: u32, value: vec2<f32>) {
    work[slab * 2u * SIZE + i] = value;
}
