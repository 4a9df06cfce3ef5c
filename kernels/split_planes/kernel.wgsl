// A thread moves two neighbouring blocks of the target, because their float16 scales share a word. A block is 4 * CODE_WORDS
// bytes of codes, before or after which is a float16 scale, so its words may start in the middle of a word of the file.
// Reference: webxpu/ops/split_planes.py. raw: the chunk's blocks; stored: codes of all blocks, then their scales; span:
// where the chunk goes.

override CODE_WORDS: u32;
override SCALE_AT: u32; // 0 or 2 * CODE_WORDS: where the scale is, in half words

struct Span {
    first_block: u32, // of the chunk within its piece
    block_count: u32,
    total_blocks: u32, // of the tensor
    first_target_block: u32, // of the piece within the tensor
}

@group(0) @binding(0) var<storage, read> raw: array<u32>;
@group(0) @binding(1) var<storage, read_write> stored: array<u32>;
@group(0) @binding(2) var<uniform> span: Span;

// Two bytes of the chunk, by their number.
fn half_word(i: u32) -> u32 {
    return (raw[i / 2u] >> (16u * (i % 2u))) & 0xffffu;
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = span.first_target_block + span.first_block;
    let end = first + span.block_count;
    let pair = first / 2u + (wid.x + wid.y * num.x) * 64u + local;
    for (var i = 0u; i < 2u; i++) {
        let target_block = 2u * pair + i;
        if (target_block < first || target_block >= end) {
            continue;
        }
        let start = (target_block - first) * (2u * CODE_WORDS + 1u); // in half words
        let codes = start + select(0u, 1u, SCALE_AT == 0u);
        for (var w = 0u; w < CODE_WORDS; w++) {
            stored[target_block * CODE_WORDS + w] = half_word(codes + 2u * w) | (half_word(codes + 2u * w + 1u) << 16u);
        }
        let place = (span.total_blocks * CODE_WORDS + 3u) / 4u * 4u + pair;
        let kept = stored[place] & ~(0xffffu << (16u * i));
        stored[place] = kept | (half_word(start + SCALE_AT) << (16u * i));
    }
}
