// A cache that ends where it is full.

// The next position.
fn make_room(position: u32) -> u32 {
    return position;
}
