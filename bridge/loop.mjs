// @ts-check
/**
 * The token loop: one program run again and again, several batches ahead of the ids that are read back.
 *
 * Each run appends one id to a ring on the GPU. After a batch the new ids are copied to a staging buffer that is mapped
 * while later batches run. When a batch lands, the next is submitted before anyone gets to see its ids. Batches grow
 * (1, 2, 4, 8 runs), so that the first id is early and later ones cost few submits.
 *
 * Where runs give a varying number of ids, a word on the GPU counts them: each batch then copies that word and every
 * element of the ring that can be new, and how many are shows when it lands.
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
 * @property {number} from how many ids come before those that it copies
 * @property {number} ids that it copies: all that are new, or with a counter all that can be
 * @property {number} least new ids that it has for certain
 * @property {number} most new ids that it can have
 * @property {number} sentMs
 * @property {Promise<void>} map
 *
 * @typedef {"stop" | "length" | "abort"} Reason
 *
 * @typedef {object} Counter
 * @property {import("./buffers.mjs").Buffer} buffer
 * @property {number} offset of the word in it, in bytes
 * @property {number} start the word's value when element `first` of the ring is the next to be written
 * @property {number} most ids that a run gives
 *
 * @typedef {object} Loop
 * @property {Device} device
 * @property {import("./program.mjs").Program} program
 * @property {import("./buffers.mjs").Buffer} ring
 * @property {number} elements of the ring
 * @property {Counter | null} counter
 * @property {{gpu: import("./buffers.mjs").Buffer, bytes: number} | null} rows
 * @property {number} first element of the ring at which the first new id lands
 * @property {number} maxTokens
 * @property {Set<number>} stops
 * @property {number} batches
 * @property {number[]} sizes
 * @property {number} mostIds that a batch copies
 * @property {boolean} timestamps
 * @property {Batch[]} flying oldest first
 * @property {Batch | null} kicked the last one that was alone
 * @property {Slot[]} slots all that were made
 * @property {Slot[]} idle
 * @property {number[]} ready ids that were not handed out yet
 * @property {Uint8Array[]} readyRows one of each of them, where there is a ring of rows
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
// A staging buffer begins with two ticks and the counter; then come ids, then rows.
const HEAD_BYTES = 32;
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
   *
   * `counter` {buffer, offset, start, most}: a uint32 in a buffer says how many ids there are, each run makes 1 to `most`.
   * `rows` {buffer, bytes}: a second ring with so many bytes at the same index as each id, which `nextIds` gives too.
   * `wraps`: past the ring's end ids go on at element 0.
   * @param {number} deviceHandle
   * @param {{program: number, ring: number, first: number, maxTokens: number, ready?: number, stops: number[],
   *          batches?: number, sizes?: number[], timestamps?: boolean, wraps?: boolean,
   *          counter?: {buffer: number, offset: number, start: number, most: number} | null,
   *          rows?: {buffer: number, bytes: number} | null} | string} data options, or their JSON
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
    if (!(batches >= 1) || !sizes.length || !sizes.every((n) => n >= 1)) {
      throw error("DeviceError", `loop: batches and sizes must be at least 1, got ${batches} and [${sizes}]`);
    }
    const elements = Math.floor(ring.bytes / ID_BYTES);
    const counter = options.counter ? counterOf(device, options.counter) : null;
    const mostIds = counter
      ? Math.min(maxTokens, ready + batches * Math.max(...sizes) * counter.most)
      : Math.max(ready, ...sizes);
    // A ring that wraps must hold all ids that may be new: what comes later lies on top of older ones.
    const needed = options.wraps ? Math.min(mostIds, maxTokens) : first + maxTokens;
    if (!(first >= 0) || !(maxTokens >= 0) || needed > elements) {
      const asked = `${maxTokens} ids from element ${first}`;
      throw error("DeviceError", `loop: ${asked} do not fit buffer ${ring.label} of ${elements} elements`);
    }
    const rows = options.rows ? rowsOf(device, options.rows, elements) : null;
    /** @type {Loop} */
    const loop = {
      ...{ device, program, ring, elements, counter, rows, first, maxTokens, stops: new Set(stops) },
      ...{ batches, sizes, mostIds, timestamps },
      ...{
        flying: [],
        kicked: null,
        slots: [],
        idle: [],
        ready: [],
        readyRows: [],
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

  /** @param {Device} device @param {{buffer: number, offset: number, start: number, most: number}} given
   *  @returns {Counter} */
  function counterOf(device, { buffer: handle, offset, start, most }) {
    const buffer = programs.own(device, handle, "loop");
    if (!(offset >= 0) || offset % ID_BYTES || offset + ID_BYTES > buffer.bytes || !(most >= 1)) {
      const given = `a counter at byte ${offset} with at most ${most} ids a run`;
      throw error("DeviceError", `loop: ${given} does not fit buffer ${buffer.label} of ${buffer.bytes} bytes`);
    }
    return { buffer, offset, start, most };
  }

  /** @param {Device} device @param {{buffer: number, bytes: number}} given @param {number} elements
   *  @returns {{gpu: import("./buffers.mjs").Buffer, bytes: number}} */
  function rowsOf(device, { buffer: handle, bytes }, elements) {
    const buffer = programs.own(device, handle, "loop");
    if (!(bytes >= 4) || bytes % 4 || buffer.bytes < elements * bytes) {
      const given = `${elements} rows of ${bytes} bytes`;
      throw error("DeviceError", `loop: ${given} do not fit buffer ${buffer.label} of ${buffer.bytes} bytes`);
    }
    return { gpu: buffer, bytes };
  }

  /** Ids that have landed or will for certain. @param {Loop} loop */
  function asked(loop) {
    return loop.flying.reduce((sum, batch) => sum + batch.least, loop.landed);
  }

  /** Submits batches until enough are in flight. @param {Loop} loop */
  function topUp(loop) {
    // Before the first time is known, two small batches are enough.
    const most = loop.runMs === null ? Math.min(2, loop.batches) : loop.batches;
    const wanted = () => !loop.reason && !loop.error && asked(loop) < loop.maxTokens;
    try {
      while (wanted() && loop.flying.length < most && loop.ready.length < MAX_READY) {
        const quick = loop.runMs ? Math.max(1, Math.floor(BATCH_MS / loop.runMs)) : Infinity;
        const runs = Math.min(size(loop.launches, loop), quick, loop.maxTokens - asked(loop));
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

  /** Submits one batch. @param {Loop} loop @param {number} runs @param {number} least ids that it brings */
  function launch(loop, runs, least) {
    const { device, program, counter, rows, maxTokens } = loop;
    // With a counter nobody knows yet how many ids the batches in flight bring, so this one copies those too.
    const most = Math.max(least, runs * (counter?.most ?? 1));
    const before = loop.flying.reduce((sum, batch) => sum + batch.most, loop.landed);
    const from = counter ? loop.landed : before;
    const ids = Math.min(before + most, maxTokens) - from;
    const slot = loop.idle.pop() ?? makeSlot(loop);
    const encoder = device.gpu.createCommandEncoder({ label: `loop of ${program.label}` });
    const stamps = { querySet: slot.queries, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
    const timestampWrites = /** @type {GPUComputePassTimestampWrites | undefined} */ (
      slot.queries ? stamps : undefined
    );
    const pass = encoder.beginComputePass({ label: program.label, timestampWrites });
    for (let run = 0; run < runs; run++) programs.encode(pass, program);
    pass.end();
    if (counter) encoder.copyBufferToBuffer(counter.buffer.gpu, counter.offset, slot.staging, TICKS_BYTES, ID_BYTES);
    copyRing(encoder, loop, loop.ring, ID_BYTES, from, ids, slot, HEAD_BYTES);
    if (rows) copyRing(encoder, loop, rows.gpu, rows.bytes, from, ids, slot, HEAD_BYTES + ids * ID_BYTES);
    if (slot.queries && slot.resolved) {
      encoder.resolveQuerySet(slot.queries, 0, 2, slot.resolved, 0);
      encoder.copyBufferToBuffer(slot.resolved, 0, slot.staging, 0, TICKS_BYTES);
    }
    devices.send(device, encoder);
    const map = slot.staging.mapAsync(GPUMapMode.READ);
    const batch = { slot, runs, from, ids, least, most, sentMs: performance.now(), map };
    loop.flying.push(batch);
    loop.launches += 1;
    loop.submitted += runs;
    device.maps += 1;
    map
      .finally(() => (device.maps -= 1))
      .then(
        () => land(loop, batch),
        (cause) => fail(loop, cause),
      );
  }

  /**
   * Copies what a ring has of `count` ids, of which `from` is the number of the first.
   * @param {GPUCommandEncoder} encoder @param {Loop} loop @param {import("./buffers.mjs").Buffer} ring
   * @param {number} bytes of an id there @param {number} from @param {number} count @param {Slot} slot
   * @param {number} offset
   */
  function copyRing(encoder, loop, ring, bytes, from, count, slot, offset) {
    const at = (loop.first + from) % loop.elements;
    const ahead = Math.min(count, loop.elements - at);
    const rest = count - ahead;
    encoder.copyBufferToBuffer(ring.gpu, at * bytes, slot.staging, offset, ahead * bytes);
    if (rest) encoder.copyBufferToBuffer(ring.gpu, 0, slot.staging, offset + ahead * bytes, rest * bytes);
  }

  /** @param {Loop} loop @returns {Slot} */
  function makeSlot({ device, program, mostIds, rows, slots, timestamps }) {
    const label = `loop of ${program.label}`;
    const { MAP_READ, COPY_DST, COPY_SRC, QUERY_RESOLVE } = GPUBufferUsage;
    const bytes = HEAD_BYTES + mostIds * (ID_BYTES + (rows?.bytes ?? 0));
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
    const now = performance.now();
    if (batch.runs) loop.runMs = (now - Math.max(batch.sentMs, loop.landedMs)) / batch.runs;
    loop.landedMs = now;
    loop.device.counts.reads += 1;
    loop.device.counts.bytesRead +=
      batch.ids * (ID_BYTES + (loop.rows?.bytes ?? 0)) +
      (loop.timestamps ? TICKS_BYTES : 0) +
      (loop.counter ? ID_BYTES : 0);
    if (!loop.reason) {
      const [begin, end] = new BigInt64Array(bytes, 0, 2);
      if (loop.timestamps) loop.gpuMs += Number(end - begin) / 1e6;
      take(loop, batch, bytes);
    }
    staging.unmap();
    loop.idle.push(batch.slot);
    topUp(loop);
    loop.wake?.();
  }

  /** Takes the new ids of a batch, up to a stop id. @param {Loop} loop @param {Batch} batch @param {ArrayBuffer} bytes */
  function take(loop, batch, bytes) {
    const { counter, rows, landed, maxTokens } = loop;
    const made = counter ? new Uint32Array(bytes, TICKS_BYTES, 1)[0] - counter.start : batch.from + batch.ids;
    const end = Math.min(made, batch.from + batch.ids);
    const ids = new Int32Array(bytes, HEAD_BYTES, batch.ids);
    for (let i = landed - batch.from; i < end - batch.from; i++) {
      if (loop.stops.has(ids[i])) {
        loop.reason = "stop";
        return;
      }
      loop.ready.push(ids[i]);
      if (rows) {
        const at = HEAD_BYTES + batch.ids * ID_BYTES + i * rows.bytes;
        loop.readyRows.push(new Uint8Array(bytes.slice(at, at + rows.bytes)));
      }
      loop.landed += 1;
    }
    if (loop.landed === maxTokens) loop.reason = "length";
    else if (made < landed + batch.least || made > end) {
      const text = `after ${batch.runs} more runs the counter went from ${landed} to ${made}`;
      loop.error ??= error("DeviceError", `loop of ${loop.program.label}: ${text}`);
    }
  }

  /** @param {Loop} loop @param {unknown} cause */
  function fail(loop, cause) {
    if (loop.closed) return; // its staging buffers were destroyed while they waited
    loop.error ??= cause;
    loop.wake?.();
  }

  /**
   * Every id that is ready, at least as many as one batch has; all the rest and the reason once the loop is done. Where
   * there is a ring of rows, their rows one behind the other.
   * @param {number} handle
   * @returns {Promise<{ids: number[], done: boolean, reason: Reason | null, rows?: Uint8Array}>}
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
    const given = { ids, done: loop.reason !== null, reason: loop.reason };
    return loop.rows ? { ...given, rows: joined(loop.readyRows.splice(0), loop.rows.bytes) } : given;
  }

  /** @param {Uint8Array[]} parts of `bytes` each @param {number} bytes */
  function joined(parts, bytes) {
    const whole = new Uint8Array(parts.length * bytes);
    parts.forEach((part, i) => whole.set(part, i * bytes));
    return whole;
  }

  /** Ends a loop: what was not handed out is dropped, and `nextIds` returns at once. @param {number} handle */
  function abortLoop(handle) {
    /** @type {Loop} */
    const loop = get("loop", handle);
    if (loop.reason && !loop.ready.length) return;
    loop.reason = "abort";
    loop.ready.length = 0;
    loop.readyRows.length = 0;
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
