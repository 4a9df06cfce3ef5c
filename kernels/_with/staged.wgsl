// A row of x in workgroup memory, for rows so long that every lane takes several blocks of 32: lanes read neighbouring
// blocks without conflict, and x is read and scaled once a workgroup. The kernel declares K, a multiple of 32, and what
// `weights` needs.

// Columns that a subgroup computes at once: 1, 2 or 4.
override COLUMNS: u32;

const THREADS = 256u;

// Quad q of every block side by side, each such line one vec4 longer than there are blocks.
var<workgroup> staged: array<vec4<f32>, K / 4u + 8u>;

fn blocks() -> u32 {
    return K / 32u;
}

fn put_quad(quad: u32, value: vec4<f32>) {
    staged[quad % 8u * (blocks() + 1u) + quad / 8u] = value;
}

fn staged_block(block: u32) -> array<vec4<f32>, 8> {
    let line = blocks() + 1u;
    return array<vec4<f32>, 8>(
        staged[block],
        staged[line + block],
        staged[2u * line + block],
        staged[3u * line + block],
        staged[4u * line + block],
        staged[5u * line + block],
        staged[6u * line + block],
        staged[7u * line + block],
    );
}

// The share of one lane of a subgroup of the products of COLUMNS columns.
fn staged_dots(columns: vec4<u32>, lane: u32, lanes: u32) -> vec4<f32> {
    var sums = vec4<f32>();
    for (var block = lane; block < blocks(); block += lanes) {
        let x_block = staged_block(block);
        sums.x += dot32(columns.x, block, x_block);
        if (COLUMNS > 1u) {
            sums.y += dot32(columns.y, block, x_block);
        }
        if (COLUMNS > 2u) {
            sums.z += dot32(columns.z, block, x_block);
            sums.w += dot32(columns.w, block, x_block);
        }
    }
    return sums;
}
