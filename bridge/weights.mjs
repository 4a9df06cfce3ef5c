// @ts-check
/** Weights: byte ranges of a file streamed into GPU buffers in bounded chunks, where needed through a kernel. */

/**
 * @typedef {import("./device.mjs").Device} Device
 * @typedef {import("./buffers.mjs").Buffer} Buffer
 *
 * @typedef {object} Piece a byte range of the source and where it goes
 * @property {number} start
 * @property {number} bytes
 * @property {number} buffer
 * @property {number} offset
 * @property {number | null} transform
 * @property {number} [targetBlock] for a transform: the block of the whole weight that the first one becomes
 * @property {number} [totalBlocks] blocks of the whole weight
 * @property {number} [targetBytes] its bytes on the GPU, from `offset` on
 *
 * @typedef {object} Transform a kernel over whole blocks: binding 0 raw bytes, 1 the whole weight, 2 the uniform
 *   {first_block of the chunk in its piece, block_count, total_blocks of the weight, first_target_block of the piece};
 *   there are at least as many invocations as blocks in the chunk
 * @property {import("./pipelines.mjs").Module} module
 * @property {Record<string, number>} constants
 * @property {number} block bytes of a block in the file
 *
 * @typedef {object} Job
 * @property {Device} device
 * @property {Uint8Array} chunk
 * @property {number} held bytes in `chunk`
 * @property {number} written bytes of the piece that were sent to the GPU
 * @property {Promise<undefined>[]} sent chunks that the GPU process has not taken yet
 * @property {GPUBuffer | null} raw
 * @property {GPUBuffer | null} range
 * @property {{pipeline: import("./pipelines.mjs").Pipeline, block: number, lanes: number}[]} transforms
 * @property {{piece: Piece, group: GPUBindGroup} | null} bound
 */

// A gap in the file up to this many bytes is read and dropped, which is quicker than a new request.
const MAX_GAP_BYTES = 1 << 20;
const CHUNK_BYTES = 4 << 20;
// Chunks under way to the GPU process; more would only fill its memory when the network is the faster one.
const MAX_SENT = 3;
const MAX_GROUPS = 65_535;
const RANGE_BYTES = 16;
/** @type {import("./pipelines.mjs").Access[]} */
const ACCESS = ["read", "read_write", "uniform"];

/** @param {{handles: ReturnType<import("./handles.mjs").create>, device: ReturnType<import("./device.mjs").create>,
 *           program: ReturnType<import("./program.mjs").create>, source: ReturnType<import("./source.mjs").create>,
 *           reader: ReturnType<import("./reader.mjs").create>,
 *           pipelines: ReturnType<import("./pipelines.mjs").create>}} deps */
export function create({ handles, device: devices, program: programs, source: sources, reader, pipelines }) {
  const { error, get, plain } = handles;

  /**
   * Streams pieces of a source into buffers, where there are hashes only bytes that agree with them. Rejects with
   * FetchError, FormatError, KernelError or DeviceError.
   * @param {number} deviceHandle
   * @param {{source: import("./source.mjs").Source, chunkBytes?: number, pieces: Piece[], transforms?: Transform[],
   *          hashes?: import("./reader.mjs").Hashes | null,
   *          onProgress?: ((loadedBytes: number, totalBytes: number) => void) | null} | string} options or their JSON
   * @param {((loadedBytes: number, totalBytes: number) => void) | null} [progress] `onProgress`, beside JSON
   */
  async function upload(deviceHandle, options, progress) {
    const { source, chunkBytes = CHUNK_BYTES, pieces, transforms = [], hashes, onProgress = progress } = plain(options);
    /** @type {Device} */
    const device = get("device", deviceHandle);
    devices.alive(device);
    check(device, pieces, transforms);
    await devices.settle(device); // buffers that the GPU has no room for are known before anything is fetched
    const job = await start(device, chunkBytes, transforms);
    const total = pieces.reduce((sum, piece) => sum + piece.bytes, 0);
    let loaded = 0;
    try {
      for (const run of runs(pieces.filter((piece) => piece.bytes))) {
        const last = run[run.length - 1];
        const end = last.start + last.bytes;
        let at = run[0].start;
        const parts = hashes ? reader.verified(source, at, end, hashes) : reader.stream(source, at, end);
        for await (const bytes of parts) {
          let used = 0;
          while (used < bytes.length) {
            const gap = Math.min(run[0].start + job.written + job.held - at, bytes.length - used);
            const taken = gap > 0 ? gap : take(job, run[0], bytes.subarray(used));
            used += taken;
            at += taken;
            if (gap > 0 || !full(job, run[0])) continue;
            loaded += flush(job, run[0]);
            if (job.written === run[0].bytes) {
              run.shift();
              job.written = 0;
            }
            onProgress?.(loaded, total);
            if (job.sent.length > MAX_SENT) await job.sent.shift();
          }
        }
        if (run.length) throw sources.failure(source, `it ends at byte ${at}, but bytes up to ${end} are needed`);
      }
      await Promise.all(job.sent);
      await devices.settle(device);
    } catch (cause) {
      devices.alive(device); // a loss explains more than what it broke
      throw cause;
    } finally {
      job.raw?.destroy();
      job.range?.destroy();
    }
  }

  /** Refuses pieces that cannot be right, before a byte is fetched. @param {Device} device @param {Piece[]} pieces
   *  @param {Transform[]} transforms */
  function check(device, pieces, transforms) {
    let end = 0;
    for (const [index, piece] of pieces.entries()) {
      const name = `upload: piece ${index}`;
      if (!(piece.start >= end) || !(piece.bytes >= 0)) {
        throw error(
          "DeviceError",
          `${name} must start at byte ${end} or later, got ${piece.bytes} bytes at ${piece.start}`,
        );
      }
      end = piece.start + piece.bytes;
      const buffer = programs.own(device, piece.buffer, name);
      const size = piece.transform === null ? piece.bytes : (piece.targetBytes ?? 0);
      if (!(piece.offset >= 0) || piece.offset + size > buffer.bytes) {
        const range = `bytes ${piece.offset} to ${piece.offset + size}`;
        throw error("DeviceError", `${name}: ${range} are outside of buffer ${buffer.label} of ${buffer.bytes} bytes`);
      }
      if (piece.transform === null) continue;
      const block = transforms[piece.transform]?.block;
      if (!block || piece.bytes % block) {
        throw error("DeviceError", `${name} must be whole blocks of ${block} bytes, got ${piece.bytes} bytes`);
      }
    }
  }

  /** @param {Device} device @param {number} chunkBytes @param {Transform[]} transforms @returns {Promise<Job>} */
  async function start(device, chunkBytes, transforms) {
    const compiled = transforms.map(async ({ module, constants, block }) => {
      const pipeline = await pipelines.pipelineAsync(device, module, constants, ACCESS);
      return { pipeline, block, lanes: lanesOf(module.code) };
    });
    const ready = await Promise.all(compiled);
    const size = Math.max(4, Math.floor(chunkBytes / 4) * 4, ...ready.map(({ block }) => Math.ceil(block / 4) * 4));
    const { STORAGE, COPY_DST, UNIFORM } = GPUBufferUsage;
    const make = (/** @type {string} */ label, /** @type {number} */ bytes, /** @type {number} */ usage) =>
      transforms.length ? device.gpu.createBuffer({ label, size: bytes, usage }) : null;
    return {
      ...{ device, chunk: new Uint8Array(size), held: 0, written: 0, sent: [], transforms: ready, bound: null },
      raw: make("upload raw", size, STORAGE | COPY_DST),
      range: make("upload range", RANGE_BYTES, UNIFORM | COPY_DST),
    };
  }

  /** The most bytes of a piece that are sent at once: whole blocks where a kernel reads them.
   *  @param {Job} job @param {Piece} piece */
  function capacity(job, piece) {
    const size = job.chunk.length;
    return piece.transform === null ? size : size - (size % job.transforms[piece.transform].block);
  }

  /** Copies into the chunk what fits, and says how much.
   *  @param {Job} job @param {Piece} piece @param {Uint8Array} bytes */
  function take(job, piece, bytes) {
    const left = piece.bytes - job.written;
    const taken = Math.min(bytes.length, Math.min(capacity(job, piece), left) - job.held);
    job.chunk.set(taken === bytes.length ? bytes : bytes.subarray(0, taken), job.held);
    job.held += taken;
    return taken;
  }

  /** @param {Job} job @param {Piece} piece */
  function full(job, piece) {
    return job.held === Math.min(capacity(job, piece), piece.bytes - job.written);
  }

  /** Sends the chunk to the GPU. @param {Job} job @param {Piece} piece */
  function flush(job, piece) {
    const { device, held } = job;
    const target = programs.own(device, piece.buffer, "upload");
    if (piece.transform === null) programs.write(target, piece.offset + job.written, job.chunk.subarray(0, held));
    else transform(job, piece, target);
    job.sent.push(device.gpu.queue.onSubmittedWorkDone());
    job.written += held;
    job.held = 0;
    return held;
  }

  /** Sends the chunk through its kernel. @param {Job} job @param {Piece} piece @param {Buffer} target */
  function transform(job, piece, target) {
    const { device, held, chunk, raw, range } = job;
    const { pipeline, block, lanes } = job.transforms[/** @type {number} */ (piece.transform)];
    if (!raw || !range || !pipeline.ready) return;
    const count = held / block;
    const { queue } = device.gpu;
    chunk.fill(0, held, Math.ceil(held / 4) * 4);
    queue.writeBuffer(raw, 0, /** @type {any} */ (chunk), 0, Math.ceil(held / 4) * 4);
    queue.writeBuffer(
      range,
      0,
      new Uint32Array([job.written / block, count, piece.totalBlocks ?? count, piece.targetBlock ?? 0]),
    );
    device.counts.bytesWritten += held;
    if (job.bound?.piece !== piece) job.bound = { piece, group: bind(job, piece, target, pipeline.layout) };
    const label = `upload into ${target.label}`;
    const encoder = device.gpu.createCommandEncoder({ label });
    const pass = encoder.beginComputePass({ label });
    pass.setPipeline(pipeline.ready);
    pass.setBindGroup(0, job.bound.group);
    const groups = Math.ceil(count / lanes);
    const rows = Math.ceil(groups / MAX_GROUPS);
    pass.dispatchWorkgroups(Math.ceil(groups / rows), rows);
    pass.end();
    devices.send(device, encoder);
  }

  /** @param {Job} job @param {Piece} piece @param {Buffer} target @param {GPUBindGroupLayout} layout */
  function bind({ device, raw, range }, piece, target, layout) {
    const label = `upload into ${target.label}`;
    const resources = [
      { buffer: /** @type {GPUBuffer} */ (raw) },
      { buffer: target.gpu, offset: piece.offset, size: piece.targetBytes },
      { buffer: /** @type {GPUBuffer} */ (range) },
    ];
    const entries = resources.map((resource, binding) => ({ binding, resource }));
    const make = () => device.gpu.createBindGroup({ label, layout, entries });
    return devices.guarded(device, ["validation"], `${label}: `, make);
  }

  return { upload };
}

/** Pieces in runs, each read by one request. @param {Piece[]} pieces @returns {Piece[][]} */
function runs(pieces) {
  /** @type {Piece[][]} */
  const found = [];
  let end = -Infinity;
  for (const piece of pieces) {
    if (piece.start - end > MAX_GAP_BYTES) found.push([]);
    found[found.length - 1].push(piece);
    end = piece.start + piece.bytes;
  }
  return found;
}

/** Invocations of a workgroup, as the kernel says. @param {string} code */
function lanesOf(code) {
  return Number(/@workgroup_size\(\s*(\d+)/.exec(code)?.[1] ?? 1);
}
