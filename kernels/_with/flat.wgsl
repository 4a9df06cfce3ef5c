// A workgroup of 256 threads takes 1,024 consecutive elements, four a thread and 256 apart, so that neighbours read
// neighbouring words and each thread waits for four loads at once. The grid is `flat_grid` of webxpu/gpu/plan.py.

fn flat_index(wid: vec3<u32>, num: vec3<u32>, local: u32, step: u32) -> u32 {
    return (wid.x + wid.y * num.x) * 1024u + step * 256u + local;
}
