// One thread clears one word of the histograms.
// Reference: webxpu/ops/sample.py. work: see kernels/_with/radix.wgsl.

@group(0) @binding(0) var<storage, read_write> work: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = (wid.x + wid.y * num.x) * 256u + thread;
    if (i < arrayLength(&work)) {
        work[i] = 0u;
    }
}
