// What a workgroup of 256 threads holds together, for each of them: two rounds of sixteen, fewer barriers than halving,
// which is what a CPU adapter pays for.

var<workgroup> pieces: array<vec4<f32>, 256>;

fn sum_of_everyone(thread: u32, value: vec4<f32>) -> vec4<f32> {
    workgroupBarrier(); // what was there before has been read
    pieces[thread] = value;
    workgroupBarrier();
    var sum = vec4<f32>();
    if (thread < 16u) {
        for (var i = 0u; i < 16u; i++) {
            sum += pieces[thread * 16u + i];
        }
        pieces[thread * 16u] = sum;
    }
    workgroupBarrier();
    sum = vec4<f32>();
    for (var i = 0u; i < 16u; i++) {
        sum += pieces[i * 16u];
    }
    return sum;
}

fn max_of_everyone(thread: u32, value: f32) -> f32 {
    workgroupBarrier();
    pieces[thread].x = value;
    workgroupBarrier();
    if (thread < 16u) {
        var most = pieces[thread * 16u].x;
        for (var i = 1u; i < 16u; i++) {
            most = max(most, pieces[thread * 16u + i].x);
        }
        pieces[thread * 16u].x = most;
    }
    workgroupBarrier();
    var most = pieces[0].x;
    for (var i = 1u; i < 16u; i++) {
        most = max(most, pieces[i * 16u].x);
    }
    return most;
}
