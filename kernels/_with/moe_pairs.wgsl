// Pairs of a token and a rank, in the order in which they are seated: all first choices, then all second ones. The kernel
// declares expert (T, K).

override K: u32;
override E: u32;
override BLOCK: u32; // so many pairs in a row are counted together

fn token_of(pair: u32) -> u32 {
    return pair % (arrayLength(&expert) / K);
}

// Where the pair stands in expert, and in pos.
fn place_of(pair: u32) -> u32 {
    return token_of(pair) * K + pair / (arrayLength(&expert) / K);
}
