// @ts-check
/** Programs: dispatches recorded by Python as plain data, compiled once, replayed by one call. */

/**
 * @typedef {import("./device.mjs").Device} Device
 * @typedef {import("./buffers.mjs").Buffer} Buffer
 * @typedef {import("./pipelines.mjs").Module} Module
 * @typedef {import("./pipelines.mjs").Pipeline} Pipeline
 *
 * @typedef {object} ProgramData
 * @property {string} label
 * @property {Module[]} modules
 * @property {{module: number, constants: Record<string, number>,
 *             access: import("./pipelines.mjs").Access[]}[]} pipelines
 * @property {{pipeline: number, buffers: [handle: number, offset: number, bytes: number][]}[]} groups
 * @property {number[]} commands five numbers a dispatch: pipeline, group, x, y, z
 * @property {string[]} labels one a dispatch
 *
 * @typedef {object} Program
 * @property {Device} device
 * @property {string} label
 * @property {GPUComputePipeline[]} pipelines
 * @property {GPUBindGroup[]} groups
 * @property {Buffer[]} buffers
 * @property {number[]} commands
 * @property {string[]} labels
 * @property {number} seenFrees the device's count of frees when all buffers were last seen alive
 *
 * @typedef {["write", buffer: number, offset: number, data: any]
 *   | ["copy", source: number, sourceOffset: number, target: number, targetOffset: number, bytes: number]
 *   | ["run", program: number]} Step
 */

const COMMAND = 5;

/** @param {{handles: ReturnType<import("./handles.mjs").create>, device: ReturnType<import("./device.mjs").create>,
 *           buffers: ReturnType<import("./buffers.mjs").create>,
 *           pipelines: ReturnType<import("./pipelines.mjs").create>}} deps */
export function create({ handles, device: devices, buffers, pipelines }) {
  const { error, add, get, drop, plain } = handles;

  /**
   * Makes pipelines in parallel and bind groups once. Rejects with KernelError or DeviceError.
   * @param {number} deviceHandle
   * @param {ProgramData | string} data the program, or its JSON
   * @returns {Promise<number>}
   */
  async function compile(deviceHandle, data) {
    /** @type {Device} */
    const device = get("device", deviceHandle);
    devices.alive(device);
    const wanted = plain(data);
    const made = await Promise.all(
      wanted.pipelines.map((p) => pipelines.pipelineAsync(device, wanted.modules[p.module], p.constants, p.access)),
    );
    const program = bind(device, wanted, made);
    await devices.settle(device);
    const handle = add("program", program, wanted.label);
    device.programs.add(handle);
    device.counts.groups += program.groups.length;
    return handle;
  }

  /**
   * Runs a program once, at once, and keeps nothing of it but its pipelines.
   * @param {number} deviceHandle
   * @param {ProgramData | string} data
   */
  function runNow(deviceHandle, data) {
    /** @type {Device} */
    const device = get("device", deviceHandle);
    devices.alive(device);
    const wanted = plain(data);
    const made = wanted.pipelines.map((p) =>
      pipelines.pipelineNow(device, wanted.modules[p.module], p.constants, p.access),
    );
    const program = bind(device, wanted, made);
    const encoder = device.gpu.createCommandEncoder({ label: program.label });
    const pass = encoder.beginComputePass({ label: program.label });
    encode(pass, program);
    pass.end();
    devices.send(device, encoder);
  }

  /** @param {number} handle */
  function freeProgram(handle) {
    /** @type {Program} */
    const program = drop("program", handle);
    program.device.programs.delete(handle);
    program.device.counts.groups -= program.groups.length;
  }

  /** @param {Device} device @param {ProgramData} data @param {Pipeline[]} made @returns {Program} */
  function bind(device, data, made) {
    /** @type {Set<Buffer>} */
    const used = new Set();
    const label = `program ${data.label}`;
    const groups = devices.guarded(device, ["validation"], `${label}: `, () =>
      data.groups.map(({ pipeline, buffers: bindings }, index) => {
        const entries = bindings.map(([handle, offset, bytes], binding) => {
          const buffer = own(device, handle, label);
          used.add(buffer);
          return { binding, resource: { buffer: buffer.gpu, offset, size: bytes } };
        });
        const name = `${data.label} group ${index}`;
        return device.gpu.createBindGroup({ label: name, layout: made[pipeline].layout, entries });
      }),
    );
    return {
      device,
      label,
      pipelines: made.map((p) => /** @type {GPUComputePipeline} */ (p.ready)),
      groups,
      buffers: [...used],
      commands: data.commands,
      labels: data.labels ?? [],
      seenFrees: device.frees,
    };
  }

  /** A buffer that must be of this device.
   *  @param {Device} device @param {number} handle @param {string} what @returns {Buffer} */
  function own(device, handle, what) {
    const buffer = get("buffer", handle);
    if (buffer.device === device) return buffer;
    throw error("DeviceError", `${what}: buffer ${buffer.label} belongs to another device`);
  }

  /** Throws DeviceError where a buffer that the program is bound to was freed. @param {Program} program */
  function usable(program) {
    if (program.seenFrees === program.device.frees) return;
    const freed = program.buffers.find((b) => b.freed);
    if (freed) throw error("DeviceError", `${program.label}: its buffer ${freed.label} was freed`);
    program.seenFrees = program.device.frees;
  }

  /**
   * Records the program's dispatches in a pass, or those from `first` up to `end`.
   * @param {GPUComputePassEncoder} pass
   * @param {Program} program
   * @param {number} [first]
   * @param {number} [end]
   */
  function encode(pass, program, first = 0, end = program.commands.length / COMMAND) {
    usable(program);
    const { commands, pipelines: compiled, groups } = program;
    let lastPipeline = -1;
    let lastGroup = -1;
    for (let i = first * COMMAND; i < end * COMMAND; i += COMMAND) {
      if (commands[i] !== lastPipeline) pass.setPipeline(compiled[(lastPipeline = commands[i])]);
      if (commands[i + 1] !== lastGroup) pass.setBindGroup(0, groups[(lastGroup = commands[i + 1])]);
      pass.dispatchWorkgroups(commands[i + 2], commands[i + 3], commands[i + 4]);
    }
    program.device.counts.dispatches += end - first;
  }

  /**
   * Does steps in order: writes, copies and whole programs, in one submit except where a write follows other steps.
   * @param {number} deviceHandle
   * @param {Step[] | string} steps steps, or their JSON
   * @param {...any} data what writes refer to by number, where a step's data is one
   */
  function submit(deviceHandle, steps, ...data) {
    /** @type {Device} */
    const device = get("device", deviceHandle);
    devices.alive(device);
    /** @type {GPUCommandEncoder | null} */
    let encoder = null;
    /** @type {GPUComputePassEncoder | null} */
    let pass = null;
    const closePass = () => {
      pass?.end();
      pass = null;
    };
    const flush = () => {
      closePass();
      if (encoder) devices.send(device, encoder);
      encoder = null;
    };
    for (const step of /** @type {Step[]} */ (plain(steps))) {
      if (step[0] === "write") {
        flush();
        const [, handle, offset, source] = step;
        write(own(device, handle, "write"), offset, typeof source === "number" ? data[source] : source);
        continue;
      }
      encoder ??= device.gpu.createCommandEncoder({ label: "submit" });
      if (step[0] === "run") {
        const program = ownProgram(device, step[1]);
        pass ??= encoder.beginComputePass({ label: program.label });
        encode(pass, program);
      } else if (step[0] === "copy") {
        closePass();
        const [, source, sourceOffset, target, targetOffset, bytes] = step;
        const from = own(device, source, "copy");
        const to = own(device, target, "copy");
        encoder.copyBufferToBuffer(from.gpu, sourceOffset, to.gpu, targetOffset, bytes);
      } else {
        throw error("DeviceError", `submit: a step must be write, copy or run, got ${step[0]}`);
      }
    }
    flush();
  }

  /** @param {Device} device @param {number} handle @returns {Program} */
  function ownProgram(device, handle) {
    const program = get("program", handle);
    if (program.device === device) return program;
    throw error("DeviceError", `${program.label} belongs to another device`);
  }

  /**
   * Writes bytes into a buffer. A length that is not a multiple of 4 is allowed where it ends the buffer.
   * @param {Buffer} buffer
   * @param {number} offset
   * @param {any} data
   */
  function write(buffer, offset, data) {
    buffers.withBytes(data, (bytes) => {
      buffers.inRange(buffer, offset, bytes.length, "write");
      const { queue } = buffer.device.gpu;
      const whole = Math.floor(bytes.length / 4) * 4;
      const tail = bytes.length - whole;
      if (offset % 4 || (tail && offset + bytes.length !== buffer.bytes)) {
        const range = `${bytes.length} bytes at ${offset}`;
        throw error("DeviceError", `write: ${range} of buffer ${buffer.label} must be a multiple of 4, or end it`);
      }
      queue.writeBuffer(buffer.gpu, offset, /** @type {any} */ (bytes), 0, whole);
      if (tail) {
        const last = new Uint8Array(4);
        last.set(bytes.subarray(whole));
        queue.writeBuffer(buffer.gpu, offset + whole, last);
      }
      buffer.device.counts.bytesWritten += bytes.length;
    });
  }

  return { compile, runNow, freeProgram, submit, encode, own, ownProgram, write };
}
