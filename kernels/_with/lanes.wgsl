// Neighbouring lanes of a subgroup that share a row. LANES is a power of two; where a subgroup is smaller, all of it
// shares the row.
enable subgroups;
requires subgroup_id;

override LANES: u32;

// Which of the rows in flight a lane works on, in workgroups of `subgroups` subgroups.
fn slot_of(group: u32, subgroup: u32, subgroups: u32, size: u32, lane: u32) -> u32 {
    let lanes = min(LANES, size);
    return (group * subgroups + subgroup) * (size / lanes) + lane / lanes;
}

// The sums over the lanes that share a row, in each of them.
fn over_lanes(part: vec4<f32>, lanes: u32) -> vec4<f32> {
    var sum = part;
    for (var mask = lanes / 2u; mask > 0u; mask /= 2u) {
        sum += subgroupShuffleXor(sum, mask);
    }
    return sum;
}
