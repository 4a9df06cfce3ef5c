// with: weights block
// One thread computes one row and adds the residual, without a barrier.
// Reference: webxpu/ops/project.py. weights (N, K), x (1, K), residual (1, N), out (1, N). K is a multiple of 4.

override N: u32;
override K: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> residual: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = (wid.x + wid.y * num.x) * 64u + local;
    if (row >= N) {
        return;
    }
    var sum = 0.0;
    for (var block = 0u; block < blocks(); block++) {
        sum += dot32(row, block, load_block(block));
    }
    out[row] = residual[row] + sum;
}
