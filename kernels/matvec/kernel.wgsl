// with: weights
// One thread computes one row, without a barrier: a barrier costs a CPU adapter more than the row does.
// Reference: webxpu/ops/matvec.py. weights (N, K), x (K,), out (N,).

override N: u32;
override K: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

fn x_quad(quad: u32) -> vec4<f32> {
    if (K % 32u == 0u) {
        return x[quad];
    }
    return select(vec4<f32>(), x[min(quad, K / 4u - 1u)], quad < K / 4u);
}

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
    for (var block = 0u; block < (K + 31u) / 32u; block++) {
        let first = block * 8u;
        sum += dot32(row, block, array<vec4<f32>, 8>(
            x_quad(first),
            x_quad(first + 1u),
            x_quad(first + 2u),
            x_quad(first + 3u),
            x_quad(first + 4u),
            x_quad(first + 5u),
            x_quad(first + 6u),
            x_quad(first + 7u),
        ));
    }
    out[row] = sum;
}
