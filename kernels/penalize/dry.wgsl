// with: banned
// One thread an entry of the DRY table subtracts it.
// Reference: webxpu/ops/penalize.py. dry_ids and dry_values (D,), out (V,).

@group(0) @binding(0) var<storage, read> dry_ids: array<i32>;
@group(0) @binding(1) var<storage, read> dry_values: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (wid.x + wid.y * num.x) * 256u + local;
    if (i < arrayLength(&dry_ids)) {
        let id = u32(dry_ids[i]);
        if (id < arrayLength(&out)) {
            out[id] = moved(out[id], -dry_values[i]);
        }
    }
}
