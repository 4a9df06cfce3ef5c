// with: flat
// A workgroup makes 1,024 words from their indices by an integer hash: as they are, or float32 values in [-AMP, AMP), AMP
// a power of two.
// Reference: webxpu/cases/_fill.py. out: any length.

override SEED: u32;
override AMP: f32;
override WORDS: u32; // 1: as they are
override FIRST: u32; // the index of out's first element

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

fn hash(index: u32) -> u32 {
    var word = index * 2654435761u + SEED * 40503u + 1u;
    word = (word ^ (word >> 16u)) * 0x7feb352du;
    word = (word ^ (word >> 15u)) * 0x846ca68bu;
    return word ^ (word >> 16u);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&out)) {
            let word = hash(FIRST + i);
            let value = (f32(word >> 8u) / 8388608.0 - 1.0) * AMP; // 24 bits: exact in f32
            out[i] = select(bitcast<u32>(value), word, WORDS == 1u);
        }
    }
}
