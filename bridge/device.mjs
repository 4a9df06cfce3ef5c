// @ts-check
/** Devices: opening and closing, and every error the browser reports, kept until an awaited call can throw it. */

/**
 * @typedef {object} Device
 * @property {number} handle
 * @property {GPUDevice} gpu
 * @property {string | null} lost why the browser took it away
 * @property {{order: number, error: Error}[]} errors waiting for the next awaited call
 * @property {number} order rises with every error scope: the first cause is thrown, not what followed from it
 * @property {Set<Promise<void>>} scopes error scopes whose answer is not here yet
 * @property {Map<number, import("./buffers.mjs").Buffer>} buffers by handle
 * @property {Set<number>} programs
 * @property {number} frees rises with every freed buffer: programs look again whether theirs are alive
 * @property {number} maps maps that are awaited now
 * @property {Record<string, number>} counts
 * @property {Record<string, any>} caches of pipelines.mjs
 */

// How long a failed call waits for the browser to say that the device was lost: it rejects the call first.
const LOSS_MS = 200;

/** @param {{gpu: GPU, handles: ReturnType<import("./handles.mjs").create>,
 *           adapter: ReturnType<import("./adapter.mjs").create>, fences: ReturnType<import("./fences.mjs").create>,
 *           onLost?: (device: number, why: string) => void}} deps */
export function create({ gpu, handles, adapter: adapters, fences, onLost }) {
  const { error, add, get, drop, plain } = handles;

  /**
   * Opens a device. Throws Unsupported where the browser has no WebGPU, no adapter or not the features asked for.
   * @param {{adapter?: "low-power" | "high-performance" | null, limits?: "adapter" | "default",
   *          features?: "all" | string[]} | string} [options] options, or their JSON
   */
  async function openDevice(options = {}) {
    const { adapter: power = null, limits = "adapter", features = "all" } = plain(options);
    const adapter = await adapters.findAdapter(power);
    const gpuDevice = await adapter.requestDevice({
      label: "webxpu",
      requiredFeatures: adapters.chooseFeatures(adapter, features),
      requiredLimits: limits === "adapter" ? adapters.numbers(adapter.limits) : {},
    });
    return {
      device: watch(gpuDevice),
      info: adapters.describe(adapter.info),
      limits: adapters.numbers(gpuDevice.limits),
      features: [...gpuDevice.features].sort(),
      wgslFeatures: [...gpu.wgslLanguageFeatures].sort(),
    };
  }

  /** The handle of a device whose errors and loss are kept from now on. @param {GPUDevice} device */
  function watch(device) {
    /** @type {Device} */
    const record = {
      handle: 0,
      gpu: device,
      lost: null,
      errors: [],
      order: 0,
      scopes: new Set(),
      buffers: new Map(),
      programs: new Set(),
      frees: 0,
      maps: 0,
      counts: {
        bytes: 0,
        peakBytes: 0,
        submits: 0,
        dispatches: 0,
        reads: 0,
        bytesRead: 0,
        bytesWritten: 0,
        pipelines: 0,
        groups: 0,
      },
      caches: {},
    };
    record.handle = add("device", record, "device");
    device.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      keep(record, ++record.order, typed(event.error, record));
    });
    device.lost.then((lost) => {
      if (record.lost !== null) return;
      record.lost = `${lost.message || "no message"} (${lost.reason})`;
      onLost?.(record.handle, record.lost);
    });
    return record.handle;
  }

  /** @param {GPUError} found @param {Device} device @param {string} [prefix] */
  function typed(found, device, prefix = "") {
    const name = found instanceof GPUOutOfMemoryError ? "OutOfMemory" : "DeviceError";
    const held = `; ${device.counts.bytes} bytes are allocated`;
    return error(name, `${prefix}${found.message || "no message"}${name === "OutOfMemory" ? held : ""}`);
  }

  /** @param {Device} device @param {number} order @param {Error} error */
  function keep(device, order, error) {
    device.errors.push({ order, error });
  }

  /** Throws DeviceLost where the device is gone. @param {Device} device */
  function alive(device) {
    if (device.lost !== null) throw error("DeviceLost", `the GPU device was lost: ${device.lost}. Open a new one.`);
  }

  /** Waits for error scopes that are still out and throws the first error kept. @param {Device} device */
  async function settle(device) {
    await Promise.all(device.scopes);
    alive(device);
    const kept = device.errors.splice(0).sort((a, b) => a.order - b.order);
    if (kept.length) throw kept[0].error;
  }

  /**
   * Throws what made an awaited call fail: the loss of the device, an error kept, or `cause` itself.
   * @param {Device} device
   * @param {unknown} cause
   * @param {string} what
   * @returns {Promise<never>}
   */
  async function failed(device, cause, what) {
    await Promise.race([device.gpu.lost, new Promise((later) => setTimeout(later, LOSS_MS))]);
    await settle(device);
    throw error("DeviceError", `${what}: ${/** @type {Error} */ (cause).message}`, cause);
  }

  /**
   * Runs `work` in error scopes; what they catch is kept for the next awaited call, by default with `prefix` before it.
   * An uncaptured error would come too late: Chromium announces it after it has answered the read that follows it.
   * @template T
   * @param {Device} device
   * @param {GPUErrorFilter[]} filters
   * @param {string} prefix
   * @param {() => T} work
   * @param {(found: GPUError) => Error | Promise<Error>} [explain]
   * @returns {T}
   */
  function guarded(device, filters, prefix, work, explain = (found) => typed(found, device, prefix)) {
    for (const filter of filters) device.gpu.pushErrorScope(filter);
    try {
      return work();
    } finally {
      for (const _ of filters) {
        const order = ++device.order;
        const kept = device.gpu
          .popErrorScope()
          .then(async (found) => void (found && keep(device, order, await explain(found))))
          .catch(() => {}) // the device was lost, which `alive` reports
          .finally(() => device.scopes.delete(kept));
        device.scopes.add(kept);
      }
    }
  }

  /** Ends an encoder and submits it. @param {Device} device @param {GPUCommandEncoder} encoder */
  function send(device, encoder) {
    guarded(device, ["validation"], "", () => device.gpu.queue.submit([encoder.finish()]));
    device.counts.submits += 1;
  }

  /** Waits until all work given so far is done, and throws what went wrong. @param {number} deviceHandle */
  async function sync(deviceHandle) {
    /** @type {Device} */
    const device = get("device", deviceHandle);
    alive(device);
    try {
      await fences.kick(device.gpu, device.gpu.queue.onSubmittedWorkDone());
    } catch (cause) {
      await failed(device, cause, "sync");
    }
    await settle(device);
  }

  /** Frees everything the device has. @param {number} deviceHandle */
  function closeDevice(deviceHandle) {
    /** @type {Device} */
    const device = get("device", deviceHandle);
    for (const handle of device.buffers.keys()) drop("buffer", handle).gpu.destroy();
    for (const handle of device.programs) drop("program", handle);
    drop("device", deviceHandle);
    device.lost ??= "it was closed";
    device.gpu.destroy();
  }

  /** Counters since the device was opened. @param {number} deviceHandle */
  function stats(deviceHandle) {
    /** @type {Device} */
    const device = get("device", deviceHandle);
    return { ...device.counts, buffers: device.buffers.size, programs: device.programs.size, lost: device.lost };
  }

  return { openDevice, closeDevice, stats, sync, alive, settle, failed, guarded, send };
}
