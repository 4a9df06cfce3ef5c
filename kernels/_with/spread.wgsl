// Sixteen bits as bytes of 0 or 1: a product puts the four bits of a nibble into four bytes.

fn spread16(bits: u32) -> vec4<u32> {
    let nibbles = vec4<u32>(bits, bits >> 4u, bits >> 8u, bits >> 12u) & vec4<u32>(15u);
    return (nibbles * 0x00204081u) & vec4<u32>(0x01010101u);
}
