// @ts-check
/** Where a program's time goes: GPU timestamps around each of its dispatches. */

/** @typedef {import("./program.mjs").Program} Program */

const INSIDE_PASSES = "chromium-experimental-timestamp-query-inside-passes";
const TICK_BYTES = 8;
// WebGPU's most queries in a set; longer programs are measured a part at a time.
const MAX_QUERIES = 4096;

/** @param {{handles: ReturnType<import("./handles.mjs").create>, device: ReturnType<import("./device.mjs").create>,
 *           buffers: ReturnType<import("./buffers.mjs").create>,
 *           program: ReturnType<import("./program.mjs").create>}} deps */
export function create({ handles, device: devices, buffers, program: programs }) {
  /** Throws Unsupported where the device has no timestamps.
   *  @param {import("./device.mjs").Device} device @param {string} what */
  function needTimestamps(device, what) {
    if (device.gpu.features.has("timestamp-query")) return;
    throw handles.error("Unsupported", `${what} needs the WebGPU feature timestamp-query, which this device lacks`);
  }

  /**
   * Milliseconds of each dispatch, the least of `repeats` runs. The program really runs, and changes what it writes.
   *
   * Under Chromium's developer features the stamps stand between the dispatches of one pass. Elsewhere every dispatch
   * gets a pass of its own (`split`), which adds a little to each.
   * @param {number} handle
   * @param {number} repeats
   * @returns {Promise<{ms: number[], split: boolean}>}
   */
  async function profile(handle, repeats) {
    /** @type {Program} */
    const program = handles.get("program", handle);
    const { device } = program;
    devices.alive(device);
    needTimestamps(device, "profile");
    const split = !device.gpu.features.has(/** @type {any} */ (INSIDE_PASSES));
    const total = program.commands.length / 5;
    const most = split ? MAX_QUERIES / 2 : MAX_QUERIES - 1;
    const ms = new Array(total).fill(Infinity);
    for (let round = 0; round < repeats; round++) {
      for (let first = 0; first < total; first += most) {
        const end = Math.min(total, first + most);
        const ticks = await stamp(program, first, end, split);
        for (let i = first; i < end; i++) {
          const at = (i - first) * (split ? 2 : 1);
          ms[i] = Math.min(ms[i], Number(ticks[at + 1] - ticks[at]) / 1e6);
        }
      }
    }
    return { ms, split };
  }

  /** Runs dispatches `first` to `end` and returns the stamps. @param {Program} program @param {number} first
   *  @param {number} end @param {boolean} split @returns {Promise<BigInt64Array>} */
  async function stamp(program, first, end, split) {
    const { gpu } = program.device;
    const label = `profile of ${program.label}`;
    const count = split ? 2 * (end - first) : end - first + 1;
    const querySet = gpu.createQuerySet({ label, type: "timestamp", count });
    const size = count * TICK_BYTES;
    const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const resolved = gpu.createBuffer({ label, size, usage: QUERY_RESOLVE | COPY_SRC });
    const staging = gpu.createBuffer({ label, size, usage: MAP_READ | COPY_DST });
    try {
      const encoder = gpu.createCommandEncoder({ label });
      if (split) {
        for (let i = first; i < end; i++) {
          const at = 2 * (i - first);
          const timestampWrites = { querySet, beginningOfPassWriteIndex: at, endOfPassWriteIndex: at + 1 };
          const pass = encoder.beginComputePass({ label, timestampWrites });
          programs.encode(pass, program, i, i + 1);
          pass.end();
        }
      } else {
        const pass = /** @type {any} */ (encoder.beginComputePass({ label }));
        pass.writeTimestamp(querySet, 0);
        for (let i = first; i < end; i++) {
          programs.encode(pass, program, i, i + 1);
          pass.writeTimestamp(querySet, i - first + 1);
        }
        pass.end();
      }
      encoder.resolveQuerySet(querySet, 0, count, resolved, 0);
      encoder.copyBufferToBuffer(resolved, 0, staging, 0, size);
      devices.send(program.device, encoder);
      await buffers.mapped(program.device, staging);
      await devices.settle(program.device);
      return new BigInt64Array(staging.getMappedRange().slice(0));
    } finally {
      for (const made of [querySet, resolved, staging]) made.destroy();
    }
  }

  return { profile, needTimestamps };
}
