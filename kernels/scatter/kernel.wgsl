// with: flat
// A workgroup adds 1,024 values to the sums that their indices name, in no fixed order.
// Reference: webxpu/ops/scatter.py. src and index (N, S), out (N, D), the bits of float32; clear.wgsl ran before.

override S: u32;
override D: u32;

@group(0) @binding(0) var<storage, read> src: array<f32>;
@group(0) @binding(1) var<storage, read> index: array<i32>;
@group(0) @binding(2) var<storage, read_write> out: array<atomic<u32>>;

// WGSL has no atomic float: the sum is put in place if nobody changed it meanwhile, else it is made again.
fn add(place: u32, value: f32) {
    var old = atomicLoad(&out[place]);
    loop {
        let sum = bitcast<u32>(bitcast<f32>(old) + value);
        let seen = atomicCompareExchangeWeak(&out[place], old, sum);
        if (seen.exchanged) {
            break;
        }
        old = seen.old_value;
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&src)) {
            let column = u32(index[i]); // a negative index becomes one past every row
            if (column < D) {
                add(i / S * D + column, src[i]);
            }
        }
    }
}
