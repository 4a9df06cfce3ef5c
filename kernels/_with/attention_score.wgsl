// with: attention_keys
// The scores of grouped attention as bits, so that a key that is hidden by -inf stays apart from every number: WGSL
// cannot write -inf, and may assume that there is none. The kernel declares mask (mb, mh, mr, S) as u32.

override SCALE: f32;
override MASK: u32; // 0: there is none; else 1, and 2 if it has samples of its own, 4 heads, 8 rows
override H: u32; // query heads of a sample
override FIRST: u32; // the dispatch's first kv head, counted over all samples, as the mask counts them

const HIDDEN = 0xff800000u; // -inf
const LOWEST = -0x1.fffffep127f;

fn score_bits(product: f32, head: u32, row: u32, key: u32, length: u32, keys: u32) -> u32 {
    if (MASK == 0u) {
        return bitcast<u32>(product * SCALE);
    }
    let query_head = (FIRST + head) * GROUP + row / length;
    var line = 0u;
    if ((MASK & 2u) != 0u) {
        line = query_head / H;
    }
    if ((MASK & 4u) != 0u) {
        line = line * H + query_head % H;
    }
    if ((MASK & 8u) != 0u) {
        line = line * length + row % length;
    }
    let bias = mask[line * keys + key];
    if (bias == HIDDEN) {
        return HIDDEN;
    }
    return bitcast<u32>(product * SCALE + bitcast<f32>(bias));
}
