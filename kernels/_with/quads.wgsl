// What every weight part gives, made from `weight_quad(row, quad)`, four weights of a row. Past K weights are finite: no
// more is needed, as x is 0 there.
//   CHUNK                    consecutive weights of one 16-byte load: what adjacent lanes take for coalesced reads
//   dot_chunk(row, chunk, x) those weights against x[0 .. CHUNK / 4]; chunk < K / CHUNK
//   dot8(row, octet, a, b)   eight weights against the quads `octet_quads(octet)` of x, which are 0 past K; adjacent lanes
//                            take adjacent octets, so that their reads of x join
//   dot32(row, block, x)     32 consecutive weights against x, which is 0 past K; what lies past the row is not used
//   unpack32(row, block)     the 32 weights

const CHUNK = 4u;

fn dot_chunk(row: u32, chunk: u32, x: array<vec4<f32>, 8>) -> f32 {
    return dot(weight_quad(row, chunk), x[0]);
}

fn dot32(row: u32, block: u32, x: array<vec4<f32>, 8>) -> f32 {
    let first = block * 8u;
    var sum = weight_quad(row, first) * x[0];
    sum += weight_quad(row, first + 1u) * x[1];
    sum += weight_quad(row, first + 2u) * x[2];
    sum += weight_quad(row, first + 3u) * x[3];
    sum += weight_quad(row, first + 4u) * x[4];
    sum += weight_quad(row, first + 5u) * x[5];
    sum += weight_quad(row, first + 6u) * x[6];
    sum += weight_quad(row, first + 7u) * x[7];
    return dot(sum, vec4<f32>(1.0));
}

fn unpack32(row: u32, block: u32) -> array<vec4<f32>, 8> {
    let first = block * 8u;
    return array<vec4<f32>, 8>(
        weight_quad(row, first),
        weight_quad(row, first + 1u),
        weight_quad(row, first + 2u),
        weight_quad(row, first + 3u),
        weight_quad(row, first + 4u),
        weight_quad(row, first + 5u),
        weight_quad(row, first + 6u),
        weight_quad(row, first + 7u),
    );
}

fn octet_quads(octet: u32) -> vec2<u32> {
    return vec2<u32>(2u * octet, 2u * octet + 1u);
}

fn dot8(row: u32, octet: u32, a: vec4<f32>, b: vec4<f32>) -> f32 {
    return dot(weight_quad(row, 2u * octet), a) + dot(weight_quad(row, 2u * octet + 1u), b);
}
