// One thread computes the slope of one head. Reference: webxpu/ops/alibi.py `alibi_slopes`. out (H,).

@group(0) @binding(0) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let heads = arrayLength(&out);
    let head = (wid.x + wid.y * num.x) * 64u + local;
    if (head >= heads) {
        return;
    }
    // The largest power of two up to `heads`: exp2(floor(log2(heads))) may land a factor of two low.
    let below = 1u << firstLeadingBit(heads);
    // Whole numbers over a power of two are exact.
    let eighths = select(8u * (head + 1u), 4u * (2u * (head - min(head, below)) + 1u), head >= below);
    out[head] = exp2(-f32(eighths) / f32(below));
}
