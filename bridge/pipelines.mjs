// @ts-check
/** Shader modules, layouts and pipelines, each made once a device; compile errors with a kernel's file and line. */

/**
 * @typedef {import("./device.mjs").Device} Device
 * @typedef {"read" | "read_write" | "uniform"} Access
 *
 * @typedef {object} Module
 * @property {string} label
 * @property {string} code
 * @property {[file: string, firstLine: number, lines: number][]} segments which file each line of `code` is from
 *
 * @typedef {object} Shader
 * @property {number} id
 * @property {GPUShaderModule} gpu
 * @property {Promise<Error | null>} checked
 *
 * @typedef {object} Pipeline
 * @property {GPUComputePipeline | null} ready
 * @property {Promise<GPUComputePipeline> | null} coming
 * @property {GPUBindGroupLayout} layout
 */

/** @type {Record<Access, GPUBufferBindingType>} */
const BINDING_TYPES = { read: "read-only-storage", read_write: "storage", uniform: "uniform" };

/** @param {{handles: ReturnType<import("./handles.mjs").create>,
 *           device: ReturnType<import("./device.mjs").create>}} deps */
export function create({ handles, device: devices }) {
  const { error } = handles;

  /** @param {Device} device
   *  @returns {{shaders: Map<string, Shader>, layouts: Map<string, any>, pipelines: Map<string, Pipeline>}} */
  function caches(device) {
    device.caches.pipelines ??= { shaders: new Map(), layouts: new Map(), pipelines: new Map() };
    return device.caches.pipelines;
  }

  /** @param {Device} device @param {Module} module @returns {Shader} */
  function shader(device, module) {
    const { shaders } = caches(device);
    const known = shaders.get(module.code);
    if (known) return known;
    device.gpu.pushErrorScope("validation");
    const gpu = device.gpu.createShaderModule({ label: module.label, code: module.code });
    const checked = device.gpu.popErrorScope().then(
      (found) => (found ? refused(gpu, module, found) : null),
      () => null, // the device was lost
    );
    const made = { id: ++device.order, gpu, checked };
    shaders.set(module.code, made);
    return made;
  }

  /**
   * A KernelError that names the file, line and column of the first thing the browser refused, with that line.
   * @param {GPUShaderModule} gpu
   * @param {Module} module
   * @param {GPUError} found
   */
  async function refused(gpu, module, found) {
    const { messages } = await gpu.getCompilationInfo();
    const first = messages.find((m) => m.type === "error");
    if (!first) return error("KernelError", `${module.label}: ${found.message}`);
    const { lineNum: line, linePos: column } = first;
    const segment = module.segments.find(([, start, lines]) => line >= start && line < start + lines);
    const place = segment ? `${segment[0]}:${line - segment[1] + 1}:${column}` : `${module.label}:${line}:${column}`;
    const source = module.code.split("\n")[line - 1] ?? "";
    return error("KernelError", `${place} ${first.message}\n${source}`);
  }

  /** The layouts of one list of accesses: bindings 0, 1, ... of group 0.
   *  @param {Device} device @param {Access[]} access */
  function layouts(device, access) {
    const key = access.join(",");
    const { layouts: known } = caches(device);
    if (!known.has(key)) {
      const unknown = access.find((a) => !BINDING_TYPES[a]);
      if (unknown) throw error("KernelError", `access must be read, read_write or uniform, got ${unknown}`);
      const label = `layout ${key}`;
      const entries = access.map((a, binding) => ({
        binding,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type: BINDING_TYPES[a] },
      }));
      const group = device.gpu.createBindGroupLayout({ label, entries });
      known.set(key, { group, all: device.gpu.createPipelineLayout({ label, bindGroupLayouts: [group] }) });
    }
    return known.get(key);
  }

  /**
   * The cache entry of a pipeline and what the browser needs to make it.
   * @param {Device} device
   * @param {Module} module
   * @param {Record<string, number>} constants
   * @param {Access[]} access
   */
  function entry(device, module, constants, access) {
    const code = shader(device, module);
    const key = `${code.id} ${access.join(",")} ${JSON.stringify(constants)}`;
    const { pipelines } = caches(device);
    const layout = layouts(device, access);
    let pipeline = pipelines.get(key);
    if (!pipeline) pipelines.set(key, (pipeline = { ready: null, coming: null, layout: layout.group }));
    /** @type {GPUComputePipelineDescriptor} */
    const wanted = {
      label: module.label,
      layout: layout.all,
      compute: { module: code.gpu, entryPoint: "main", constants },
    };
    /** @param {string} message */
    const explain = async (message) => {
      pipelines.delete(key);
      return (
        (await code.checked) ?? error("KernelError", `${where(module)} with ${JSON.stringify(constants)}: ${message}`)
      );
    };
    return { pipeline, wanted, explain };
  }

  /**
   * A pipeline, made beside others without blocking. Rejects with KernelError.
   * @param {Device} device
   * @param {Module} module
   * @param {Record<string, number>} constants
   * @param {Access[]} access
   * @returns {Promise<Pipeline>}
   */
  async function pipelineAsync(device, module, constants, access) {
    const { pipeline, wanted, explain } = entry(device, module, constants, access);
    if (!pipeline.ready) {
      if (!pipeline.coming) device.counts.pipelines += 1;
      pipeline.coming ??= device.gpu.createComputePipelineAsync(wanted);
      try {
        pipeline.ready = await pipeline.coming;
      } catch (cause) {
        devices.alive(device);
        throw await explain(/** @type {Error} */ (cause).message);
      }
    }
    return pipeline;
  }

  /**
   * A pipeline at once; the browser compiles it when it is first used. The next awaited call throws its KernelError.
   * @param {Device} device
   * @param {Module} module
   * @param {Record<string, number>} constants
   * @param {Access[]} access
   * @returns {Pipeline}
   */
  function pipelineNow(device, module, constants, access) {
    const { pipeline, wanted, explain } = entry(device, module, constants, access);
    if (!pipeline.ready) {
      device.counts.pipelines += 1;
      const make = () => device.gpu.createComputePipeline(wanted);
      pipeline.ready = devices.guarded(device, ["validation"], "", make, (found) => explain(found.message));
    }
    return pipeline;
  }

  return { pipelineAsync, pipelineNow };
}

/** The kernel's own file, which is the last part of its module. @param {Module} module */
function where(module) {
  return `${module.segments.at(-1)?.[0] ?? module.label}:1:1`;
}
