// What a layer's sums are added to. The kernel declares residual; where nothing is added, ADDS is 0 and something else is
// bound in its place.

override ADDS: u32;

fn before(at: u32) -> f32 {
    if (ADDS == 1u) {
        return residual[at];
    }
    return 0.0;
}
