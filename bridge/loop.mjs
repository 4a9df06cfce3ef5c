// @ts-check
/**
 * The token loop: one program run again and again, several batches ahead of the ids that are read back.
 *
 * Each run appends one id to a ring on the GPU. After a batch the new ids are copied to a staging buffer that is mapped
 * while later batches run. When a batch lands, the next is submitted before anyone gets to see its ids. Batches grow
 * (1, 2, 4, 8 runs), so that the first id is early and later ones cost few submits.
 */

/**
 * @typedef {import("./device.mjs").Device} Device
 *
 * @typedef {object} Slot what one batch in flight needs
 * @property {GPUBuffer} staging
 * @property {GPUQuerySet | null} queries
 * @property {GPUBuffer | null} resolved
 *
 * @typedef {object} Batch
 * @property {Slot} slot
 * @property {number} runs
 * @property {number} ids that it brings: one a run, or those that earlier work has made
 * @property {number} sentMs
 * @property {Promise<void>} map
 *
 * @typedef {"stop" | "length" | "abort"} Reason
 *
 * @typedef {object} Loop
 * @property {Device} device
 * @property {import("./program.mjs").Program} program
 * @property {import("./buffers.mjs").Buffer} ring
 * @property {number} first element of the ring at which the first new id lands
 * @property {number} maxTokens
 * @property {Set<number>} stops
 * @property {number} batches
 * @property {number[]} sizes
 * @property {number} mostIds of a batch
 * @property {boolean} timestamps
 * @property {Batch[]} flying oldest first
 * @property {Batch | null} kicked the last one that was alone
 * @property {Slot[]} slots all that were made
 * @property {Slot[]} idle
 * @property {number[]} ready ids that were not handed out yet
 * @property {number} asked ids that land or have landed
 * @property {number} landed ids seen, up to a stop id
 * @property {number} launches
 * @property {number} handouts
 * @property {number} submitted runs
 * @property {number} kept ids handed out
 * @property {number} gpuMs
 * @property {number | null} runMs how long a run took in the batch that landed last
 * @property {number} landedMs when it landed
 * @property {Reason | null} reason
 * @property {unknown} error
 * @property {(() => void) | null} wake
 * @property {boolean} closed
 */

const ID_BYTES = 4;
const TICKS_BYTES = 16;
// Nothing can be taken back from the GPU's queue. Where runs are so slow that a batch would take longer than this,
// batches stay smaller, so that a stop or an abort does not wait for many runs that nobody wants.
const BATCH_MS = 250;
// Ids that wait for a reader who is late; past this the loop pauses.
const MAX_READY = 64;

/** @param {{handles: ReturnType<import("./handles.mjs").create>, fences: ReturnType<import("./fences.mjs").create>,
 *           device: ReturnType<import("./device.mjs").create>, program: ReturnType<import("./program.mjs").create>,
 *           profile: ReturnType<import("./profile.mjs").create>}} deps */
export function create({ handles, fences, device: devices, program: programs, profile }) {
  const { error, add, get, drop, plain } = handles;

  /**
   * Starts a loop: its first batches are submitted before this returns.
   *
   * `ready` ids are in the ring, from `first` on, by the time that work already submitted is done: a prompt's program
   * has chosen them. They are part of `maxTokens` and come first.
   * @param {number} deviceHandle
   * @param {{program: number, ring: number, first: number, maxTokens: number, ready?: number, stops: number[],
   *          batches?: number, sizes?: number[], timestamps?: boolean} | string} data options, or their JSON
   * @returns {number}
   */
  function openLoop(deviceHandle, data) {
    const options = plain(data);
    const { first, maxTokens, ready = 0, stops, batches = 3, sizes = [1, 2, 4, 8], timestamps = false } = options;
    /** @type {Device} */
    const device = get("device", deviceHandle);
    devices.alive(device);
    const program = programs.ownProgram(device, options.program);
    const ring = programs.own(device, options.ring, "loop");
    if (timestamps) profile.needTimestamps(device, "a loop with timestamps");
    const elements = Math.floor(ring.bytes / ID_BYTES);
    if (!(first >= 0) || !(maxTokens >= 0) || first + maxTokens > elements) {
      const asked = `${maxTokens} ids from element ${first}`;
      throw error("DeviceError", `loop: ${asked} do not fit buffer ${ring.label} of ${elements} elements`);
    }
    if (!(batches >= 1) || !sizes.length || !sizes.every((n) => n >= 1)) {
      throw error("DeviceError", `loop: batches and sizes must be at least 1, got ${batches} and [${sizes}]`);
    }
    /** @type {Loop} */
    const loop = {
      ...{ device, program, ring, first, maxTokens, stops: new Set(stops), batches, sizes, timestamps },
      mostIds: Math.max(ready, ...sizes),
      ...{
        flying: [],
        kicked: null,
        slots: [],
        idle: [],
        ready: [],
        asked: 0,
        landed: 0,
        launches: 0,
        handouts: 0,
        submitted: 0,
        kept: 0,
      },
      ...{ gpuMs: 0, runMs: null, landedMs: 0, reason: maxTokens ? null : "length" },
      ...{ error: null, wake: null, closed: false },
    };
    const handle = add("loop", loop, program.label);
    if (ready && maxTokens) launch(loop, 0, Math.min(ready, maxTokens));
    topUp(loop);
    return handle;
  }

  /** Submits batches until enough are in flight. @param {Loop} loop */
  function topUp(loop) {
    // Before the first time is known, two small batches are enough.
    const most = loop.runMs === null ? Math.min(2, loop.batches) : loop.batches;
    const wanted = () => !loop.reason && !loop.error && loop.asked < loop.maxTokens;
    try {
      while (wanted() && loop.flying.length < most && loop.ready.length < MAX_READY) {
        const quick = loop.runMs ? Math.max(1, Math.floor(BATCH_MS / loop.runMs)) : Infinity;
        const runs = Math.min(size(loop.launches, loop), quick, loop.maxTokens - loop.asked);
        launch(loop, runs, runs);
      }
    } catch (cause) {
      loop.error = cause;
    }
    const [last, second] = loop.flying;
    if (!last || second || loop.kicked === last) return;
    loop.kicked = last;
    fences.kick(loop.device.gpu, last.map).catch(() => {}); // a map that fails is reported where it is awaited
  }

  /** @param {number} count @param {Loop} loop how many runs the batch or hand-out of that number has */
  function size(count, loop) {
    return loop.sizes[Math.min(count, loop.sizes.length - 1)];
  }

  /** Submits one batch. @param {Loop} loop @param {number} runs @param {number} ids that it brings */
  function launch(loop, runs, ids) {
    const { device, program } = loop;
    const slot = loop.idle.pop() ?? makeSlot(loop);
    const encoder = device.gpu.createCommandEncoder({ label: `loop of ${program.label}` });
    const stamps = { querySet: slot.queries, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
    const timestampWrites = /** @type {GPUComputePassTimestampWrites | undefined} */ (
      slot.queries ? stamps : undefined
    );
    const pass = encoder.beginComputePass({ label: program.label, timestampWrites });
    for (let run = 0; run < runs; run++) programs.encode(pass, program);
    pass.end();
    const at = (loop.first + loop.asked) * ID_BYTES;
    encoder.copyBufferToBuffer(loop.ring.gpu, at, slot.staging, TICKS_BYTES, ids * ID_BYTES);
    if (slot.queries && slot.resolved) {
      encoder.resolveQuerySet(slot.queries, 0, 2, slot.resolved, 0);
      encoder.copyBufferToBuffer(slot.resolved, 0, slot.staging, 0, TICKS_BYTES);
    }
    devices.send(device, encoder);
    const map = slot.staging.mapAsync(GPUMapMode.READ);
    const batch = { slot, runs, ids, sentMs: performance.now(), map };
    loop.flying.push(batch);
    loop.launches += 1;
    loop.submitted += runs;
    loop.asked += ids;
    device.maps += 1;
    map
      .finally(() => (device.maps -= 1))
      .then(
        () => land(loop, batch),
        (cause) => fail(loop, cause),
      );
  }

  /** @param {Loop} loop @returns {Slot} */
  function makeSlot({ device, program, mostIds, slots, timestamps }) {
    const label = `loop of ${program.label}`;
    const { MAP_READ, COPY_DST, COPY_SRC, QUERY_RESOLVE } = GPUBufferUsage;
    const bytes = TICKS_BYTES + mostIds * ID_BYTES;
    const slot = {
      staging: device.gpu.createBuffer({ label, size: bytes, usage: MAP_READ | COPY_DST }),
      queries: timestamps ? device.gpu.createQuerySet({ label, type: "timestamp", count: 2 }) : null,
      resolved: timestamps
        ? device.gpu.createBuffer({ label, size: TICKS_BYTES, usage: QUERY_RESOLVE | COPY_SRC })
        : null,
    };
    slots.push(slot);
    return slot;
  }

  /** Takes the ids of the oldest batch. @param {Loop} loop @param {Batch} batch */
  function land(loop, batch) {
    if (loop.closed) return;
    loop.flying.splice(loop.flying.indexOf(batch), 1);
    const { staging } = batch.slot;
    const bytes = staging.getMappedRange();
    const ids = new Int32Array(bytes, TICKS_BYTES, batch.ids);
    const [begin, end] = new BigInt64Array(bytes, 0, 2);
    const now = performance.now();
    if (batch.runs) loop.runMs = (now - Math.max(batch.sentMs, loop.landedMs)) / batch.runs;
    loop.landedMs = now;
    loop.device.counts.reads += 1;
    loop.device.counts.bytesRead += batch.ids * ID_BYTES + (loop.timestamps ? TICKS_BYTES : 0);
    if (!loop.reason) {
      if (loop.timestamps) loop.gpuMs += Number(end - begin) / 1e6;
      for (const id of ids) {
        if (loop.stops.has(id)) {
          loop.reason = "stop";
          break;
        }
        loop.ready.push(id);
        loop.landed += 1;
      }
      if (!loop.reason && loop.landed === loop.maxTokens) loop.reason = "length";
    }
    staging.unmap();
    loop.idle.push(batch.slot);
    topUp(loop);
    loop.wake?.();
  }

  /** @param {Loop} loop @param {unknown} cause */
  function fail(loop, cause) {
    if (loop.closed) return; // its staging buffers were destroyed while they waited
    loop.error ??= cause;
    loop.wake?.();
  }

  /**
   * Every id that is ready, at least as many as one batch has; all the rest and the reason once the loop is done.
   * @param {number} handle
   * @returns {Promise<{ids: number[], done: boolean, reason: Reason | null}>}
   */
  async function nextIds(handle) {
    /** @type {Loop} */
    const loop = get("loop", handle);
    if (loop.wake) throw error("DeviceError", `loop of ${loop.program.label}: somebody waits for its ids already`);
    topUp(loop);
    const enough = Math.min(size(loop.handouts, loop), loop.maxTokens - loop.kept);
    while (!loop.reason && !loop.error && loop.ready.length < enough) {
      await new Promise((wake) => (loop.wake = () => wake(undefined)));
      loop.wake = null;
    }
    const { device } = loop;
    if (loop.error) {
      if (/** @type {Error} */ (loop.error).name === "DeviceError") throw loop.error;
      await devices.failed(device, loop.error, `loop of ${loop.program.label}`);
    }
    // Scopes of batches that were submitted just now are not waited for.
    if (device.lost !== null || device.errors.length) await devices.settle(device);
    const ids = loop.ready.splice(0);
    loop.kept += ids.length;
    loop.handouts += 1;
    return { ids, done: loop.reason !== null, reason: loop.reason };
  }

  /** Ends a loop: what was not handed out is dropped, and `nextIds` returns at once. @param {number} handle */
  function abortLoop(handle) {
    /** @type {Loop} */
    const loop = get("loop", handle);
    if (loop.reason && !loop.ready.length) return;
    loop.reason = "abort";
    loop.ready.length = 0;
    loop.wake?.();
  }

  /**
   * Frees what the loop holds and says what it did. `gpuMs` is the GPU's own time for the batches that gave ids.
   * @param {number} handle
   * @returns {Promise<{submitted: number, kept: number, gpuMs: number | null}>}
   */
  async function closeLoop(handle) {
    /** @type {Loop} */
    const loop = drop("loop", handle);
    loop.closed = true;
    loop.reason ??= "abort";
    loop.wake?.();
    for (const slot of loop.slots) {
      for (const made of Object.values(slot)) made?.destroy();
    }
    return { submitted: loop.submitted, kept: loop.kept, gpuMs: loop.timestamps ? loop.gpuMs : null };
  }

  return { openLoop, nextIds, abortLoop, closeLoop };
}
