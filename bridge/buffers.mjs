// @ts-check
/** Buffers by handle: allocation, freeing, reading back. */

/**
 * @typedef {import("./device.mjs").Device} Device
 *
 * @typedef {object} Buffer
 * @property {Device} device
 * @property {GPUBuffer} gpu
 * @property {number} bytes as asked for; the GPU's own size is padded to 4
 * @property {string} label
 * @property {boolean} freed
 */

/** @type {GPUErrorFilter[]} */
const ALLOCATION = ["out-of-memory", "validation"];

/** @param {{handles: ReturnType<import("./handles.mjs").create>, fences: ReturnType<import("./fences.mjs").create>,
 *           device: ReturnType<import("./device.mjs").create>}} deps */
export function create({ handles, fences, device: devices }) {
  const { error, add, get, drop } = handles;
  const { alive, settle, failed, guarded, send } = devices;

  /**
   * Makes a zeroed buffer at once. What the browser thinks of it is thrown by the next awaited call of the device.
   * @param {number} deviceHandle
   * @param {number} bytes
   * @param {string} label
   * @returns {number}
   */
  function createBuffer(deviceHandle, bytes, label) {
    /** @type {Device} */
    const device = get("device", deviceHandle);
    alive(device);
    const size = Math.max(4, Math.ceil(bytes / 4) * 4);
    const limit = device.gpu.limits.maxBufferSize;
    if (!(bytes >= 0) || size > limit) {
      throw error("OutOfMemory", `buffer ${label}: ${bytes} bytes are over the device's maxBufferSize of ${limit}`);
    }
    const { STORAGE, COPY_SRC, COPY_DST, UNIFORM } = GPUBufferUsage;
    const usage = STORAGE | COPY_SRC | COPY_DST | UNIFORM;
    const made = guarded(device, ALLOCATION, `buffer ${label} of ${bytes} bytes: `, () =>
      device.gpu.createBuffer({ label, size, usage }),
    );
    /** @type {Buffer} */
    const buffer = { device, gpu: made, bytes, label, freed: false };
    const handle = add("buffer", buffer, label);
    device.buffers.set(handle, buffer);
    device.counts.bytes += size;
    device.counts.peakBytes = Math.max(device.counts.peakBytes, device.counts.bytes);
    return handle;
  }

  /** @param {number} handle */
  function freeBuffer(handle) {
    /** @type {Buffer} */
    const buffer = drop("buffer", handle);
    buffer.freed = true;
    buffer.device.frees += 1;
    buffer.device.counts.bytes -= buffer.gpu.size;
    buffer.device.buffers.delete(handle);
    buffer.gpu.destroy();
  }

  /**
   * Bytes of a buffer, after all work given so far.
   * @param {number} handle
   * @param {number} offset in bytes
   * @param {number} bytes
   * @param {any} [into] a Uint8Array or PyProxy of as many bytes, filled in place
   * @returns {Promise<Uint8Array | undefined>}
   */
  async function read(handle, offset, bytes, into) {
    /** @type {Buffer} */
    const buffer = get("buffer", handle);
    const { device } = buffer;
    alive(device);
    inRange(buffer, offset, bytes, "read");
    const start = Math.floor(offset / 4) * 4;
    const size = Math.ceil((offset + bytes) / 4) * 4 - start;
    if (size === 0) {
      await settle(device);
      return into ? undefined : new Uint8Array(0);
    }
    const { MAP_READ, COPY_DST } = GPUBufferUsage;
    const staging = guarded(device, ALLOCATION, `read of ${buffer.label}: `, () =>
      device.gpu.createBuffer({ label: `read ${buffer.label}`, size, usage: MAP_READ | COPY_DST }),
    );
    try {
      const encoder = device.gpu.createCommandEncoder({ label: `read ${buffer.label}` });
      encoder.copyBufferToBuffer(buffer.gpu, start, staging, 0, size);
      send(device, encoder);
      await mapped(device, staging);
      await settle(device);
      device.counts.reads += 1;
      device.counts.bytesRead += bytes;
      const view = new Uint8Array(staging.getMappedRange(), offset - start, bytes);
      if (!into) return view.slice();
      withBytes(into, (target) => target.set(view));
    } finally {
      staging.destroy();
    }
  }

  /**
   * Maps a staging buffer for reading; a lone map is kicked. Where it fails, the device's own error is thrown first.
   * @param {Device} device
   * @param {GPUBuffer} staging
   */
  async function mapped(device, staging) {
    const lone = device.maps++ === 0;
    const map = staging.mapAsync(GPUMapMode.READ);
    try {
      await (lone ? fences.kick(device.gpu, map) : map);
    } catch (cause) {
      await failed(device, cause, staging.label);
    } finally {
      device.maps -= 1;
    }
  }

  /** @param {Buffer} buffer @param {number} offset @param {number} bytes @param {string} what */
  function inRange(buffer, offset, bytes, what) {
    if (offset >= 0 && bytes >= 0 && offset + bytes <= buffer.gpu.size) return;
    const range = `bytes ${offset} to ${offset + bytes}`;
    throw error("DeviceError", `${what}: ${range} are outside of buffer ${buffer.label} of ${buffer.gpu.size} bytes`);
  }

  /**
   * Gives `use` the bytes of a Uint8Array or of a Python object's own memory, which is released at once: a view of wasm
   * memory dies when that memory grows.
   * @template T
   * @param {any} data
   * @param {(bytes: Uint8Array) => T} use
   * @returns {T}
   */
  function withBytes(data, use) {
    if (data instanceof Uint8Array) return use(data);
    if (typeof data?.getBuffer !== "function")
      throw error("DeviceError", "bytes must be a Uint8Array or a Python buffer");
    const view = data.getBuffer("u8");
    try {
      if (!view.c_contiguous) throw error("DeviceError", "bytes must be a contiguous array");
      return use(view.data);
    } finally {
      view.release();
    }
  }

  return { createBuffer, freeBuffer, read, mapped, inRange, withBytes };
}
