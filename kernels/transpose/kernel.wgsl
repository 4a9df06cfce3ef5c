// with: matrices
// A workgroup moves a tile of 32 rows and columns through its memory, so that both sides are touched a row at a time.
// Reference: webxpu/ops/transpose.py. x (BATCH, R, C), out (BATCH, C, R).

const TILE = 32u;
const STEP = 8u; // rows that 256 threads touch at once

// One column more than is used: the words of a column lie in different banks.
var<workgroup> tile: array<array<u32, TILE + 1u>, TILE>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let across = (columns() + TILE - 1u) / TILE;
    let tiles = across * ((rows() + TILE - 1u) / TILE);
    let job = wid.x + wid.y * num.x;
    if (job >= BATCH * tiles) {
        return;
    }
    let matrix = job / tiles * matrix_words();
    let row = job % tiles / across * TILE;
    let column = job % across * TILE;
    let lane = local % TILE;
    // Past the edges of the matrix this reads its neighbours; what it reads there is never written.
    for (var y = local / TILE; y < TILE; y += STEP) {
        tile[y][lane] = x[matrix + (row + y) * columns() + column + lane];
    }
    workgroupBarrier();
    for (var y = local / TILE; y < TILE; y += STEP) {
        if (column + y < columns() && row + lane < rows()) {
            out[matrix + (column + y) * rows() + row + lane] = tile[lane][y];
        }
    }
}
