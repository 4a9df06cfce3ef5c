// with: activation
// One thread makes one value from its gate and up.
// Reference: webxpu/ops/norm_gate_up.py, glu. x (L, 2 F), out (L, F).

override F: u32;
override KIND: u32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (wid.x + wid.y * num.x) * 64u + local;
    if (i >= arrayLength(&out)) {
        return;
    }
    let gate = i / F * (2u * F) + i % F;
    out[i] = activate(KIND, x[gate], 1.0) * x[gate + F];
}
