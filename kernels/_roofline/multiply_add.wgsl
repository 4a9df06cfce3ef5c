// Every thread runs eight chains of multiply-adds in registers: enough that none waits for the one before.
// What it measures: webxpu/bench/roofline.py. seed (1,), which no compiler knows; out: one element a thread.

override ROUNDS: u32;

@group(0) @binding(0) var<storage, read> seed: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let k = seed[0] * 0.5 + 0.5;
    var a = vec4<f32>(f32(id.x)) * vec4<f32>(1.0, 2.0, 3.0, 4.0);
    var b = a + 5.0;
    for (var i = 0u; i < ROUNDS; i++) {
        a = fma(a, vec4<f32>(k), vec4<f32>(1.0));
        b = fma(b, vec4<f32>(k), vec4<f32>(1.0));
    }
    let sum = dot(a + b, vec4<f32>(1.0));
    if (sum == 1.2345e30) {
        out[id.x % arrayLength(&out)] = sum;
    }
}
