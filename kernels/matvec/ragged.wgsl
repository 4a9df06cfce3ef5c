// with: weights
// One thread computes one row whose width is no whole number of 16-byte loads; rows and x are read one value at a time.
// Reference: webxpu/ops/matvec.py. weights (N, K), x (K,), out (N,).

override N: u32;
override K: u32;

@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

fn x_at(column: u32) -> f32 {
    return select(0.0, x[min(column, K - 1u)], column < K);
}

fn x_quad(quad: u32) -> vec4<f32> {
    let c = quad * 4u;
    return vec4<f32>(x_at(c), x_at(c + 1u), x_at(c + 2u), x_at(c + 3u));
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
