// Follows kernels/_with/philox.wgsl: the noise of each word, and the upper bits of the random word that it counts to.

@group(0) @binding(0) var<storage, read> words: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<vec2<f32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&out)) {
        let random = philox(vec4<u32>(words[id.x], 7u, 0u, 0u), vec2<u32>(0x89abcdefu, 0x01234567u));
        out[id.x] = vec2<f32>(gumbel(words[id.x]), f32(random.x >> 8u));
    }
}
