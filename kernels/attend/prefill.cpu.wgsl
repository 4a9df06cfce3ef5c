// with: state kv paged spans keys attend_thread
// One thread attends one part of the keys for one row and query head, without a barrier.
// Reference: webxpu/ops/attend.py. q (L, H, D), cache (P, 2, 64, G, D), pages (n,), table (P, D / 2, 2),
// acc (L, H, PARTS, D),
// stats (L, H, PARTS) of max and sum. D is a multiple of 4 and at most 256.

override H: u32;
override G: u32;
override WIDE: u32; // D / 4
override PARTS: u32;
override SCALE: f32;
override WINDOW: u32; // keys that a row sees at most; 0: all

@group(0) @binding(0) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> cache: array<KvWord>;
@group(0) @binding(2) var<storage, read> pages: array<i32>;
@group(0) @binding(3) var<storage, read> table: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> acc: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> stats: array<vec2<f32>>;
@group(0) @binding(6) var<uniform> state: State;

@compute @workgroup_size(4)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let job = (wid.x + wid.y * num.x) * 4u + local;
    if (job < arrayLength(&stats)) {
        attend_thread(job);
    }
}
