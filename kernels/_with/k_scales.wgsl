// with: packed_quads
// The 16 bytes that a block of Q4_K or Q5_K begins with: d and dmin in float16, then eight scales and minima of six bits.
// Of twelve bytes the first four hold scales 0 to 3, the next minima 0 to 3, the last the low nibbles of scales and minima
// 4 to 7, whose two high bits are those of the first eight bytes.

fn k_scales(head: vec4<u32>, group: u32) -> vec2<f32> {
    let bytes = (head.yzw >> vec3<u32>(8u * (group % 4u))) & vec3<u32>(255u);
    let early = bytes.xy & vec2<u32>(63u);
    let late = vec2<u32>(bytes.z & 15u, bytes.z >> 4u) | ((bytes.xy >> vec2<u32>(6u)) << vec2<u32>(4u));
    return unpack2x16float(head.x) * vec2<f32>(select(early, late, group >= 4u));
}
