// One thread clears one word of the histograms.
// Reference: webxpu/ops/sample.py. work: see kernels/_with/radix.wgsl.

@group(0) @binding(0) var<storage, read_write> work: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&work)) {
        work[id.x] = 0u;
    }
}
