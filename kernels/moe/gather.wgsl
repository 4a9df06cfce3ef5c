// with: flat
// A workgroup adds up 1,024 elements of the tokens' results, each rank's times its gate.
// Reference: webxpu/ops/moe.py. y (E, C, D): experts FIRST to FIRST + E; expert, pos and gate (T, K), out (T, D).

override E: u32;
override D: u32;
override K: u32;
override FIRST: u32;

@group(0) @binding(0) var<storage, read> y: array<f32>;
@group(0) @binding(1) var<storage, read> expert: array<i32>;
@group(0) @binding(2) var<storage, read> pos: array<i32>;
@group(0) @binding(3) var<storage, read> gate: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let capacity = arrayLength(&y) / (E * D);
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&out)) {
            var sum = 0.0;
            for (var rank = 0u; rank < K; rank++) {
                let place = i / D * K + rank;
                let e = u32(expert[place]) - FIRST; // what lies before wraps past every expert, and so does a seat of -1
                let seat = u32(pos[place]);
                if (e < E && seat < capacity) {
                    sum += gate[place] * y[(e * capacity + seat) * D + i % D];
                }
            }
            out[i] = sum;
        }
    }
}
