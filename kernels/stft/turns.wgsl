// with: flat turn
// A workgroup writes 1,024 entries of the table that kernels/_with/fft.wgsl reads. The last 2 SIZE entries of a chirp's
// table are left to kernels/stft/spectrum.wgsl.
// Reference: webxpu/ops/stft.py. turns: N of (cos, sin), and for a chirp also SIZE, POINTS and 2 SIZE.

override N: u32;
override POINTS: u32;
override SIZE: u32;

@group(0) @binding(0) var<storage, read_write> turns: array<vec2<f32>>;

// j^2 mod n by doubling: the square itself may pass 32 bits.
fn square_mod(j: u32, n: u32) -> u32 {
    var square = 0u;
    var summand = j % n;
    for (var bits = j; bits > 0u; bits >>= 1u) {
        square = (square + summand * (bits & 1u)) % n;
        summand = 2u * summand % n;
    }
    return square;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < N) {
            turns[i] = turn(i, N);
        } else if (SIZE != POINTS && i < N + SIZE) {
            turns[i] = turn(i - N, SIZE);
        } else if (SIZE != POINTS && i < N + SIZE + POINTS) {
            let angle = turn(square_mod(i - N - SIZE, 2u * POINTS), 2u * POINTS);
            turns[i] = vec2<f32>(angle.x, -angle.y);
        }
    }
}
