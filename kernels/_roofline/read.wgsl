// Every thread sums quads of a large buffer, a grid apart, so that all of it is read once; the sum is stored only where
// it takes a value that it never takes, so that nothing is written and no load can be left out.
// What it measures: webxpu/bench/roofline.py. x: a multiple of 4, out: one element a thread.

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
) {
    let threads = num.x * 256u;
    let quads = arrayLength(&x);
    var a = vec4<f32>();
    var b = vec4<f32>();
    var c = vec4<f32>();
    var d = vec4<f32>();
    for (var i = id.x; i < quads; i += 4u * threads) {
        // Past the end the last quad is read again: at most four a thread.
        a += x[i];
        b += x[min(i + threads, quads - 1u)];
        c += x[min(i + 2u * threads, quads - 1u)];
        d += x[min(i + 3u * threads, quads - 1u)];
    }
    let sum = dot(a + b + c + d, vec4<f32>(1.0));
    if (sum == 1.2345e30) {
        out[id.x % arrayLength(&out)] = sum;
    }
}
