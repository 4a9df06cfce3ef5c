// with: joined
// One thread joins the parts of one vec4 of the result.
// Reference: webxpu/ops/attend.py, attend_combine. acc (L, H, PARTS, D), stats (L, H, PARTS) of max and sum,
// out (L, H * D).

override D: u32;
override PARTS: u32;

@group(0) @binding(0) var<storage, read> acc: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> stats: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (wid.x + wid.y * num.x) * 64u + local;
    if (i < arrayLength(&out)) {
        out[i] = joined(i);
    }
}
