// A line that is divided among PARTS teams: none of them is empty if the line has at least PARTS values.

override PARTS: u32;

// Where share `part` of `length` values begins; that of PARTS is the end.
fn share_start(length: u32, part: u32) -> u32 {
    return part * (length / PARTS) + min(part, length % PARTS);
}
