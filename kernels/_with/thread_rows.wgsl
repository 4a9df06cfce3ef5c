// with: block
// Weight rows (N, K) times x (K,): one thread computes one row, without a barrier, which costs a CPU adapter more than
// the row does. The kernel declares x and `store(row, sum)`.

override N: u32;
override K: u32;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = (wid.x + wid.y * num.x) * 64u + local;
    if (row >= N) {
        return;
    }
    var sum = 0.0;
    for (var i = 0u; i < blocks(); i++) {
        sum += dot32(row, i, load_block(i));
    }
    store(row, sum);
}
