// @ts-check
// What the bridge's tests share in the page: the bridge, small programs, and errors as data.

export const { boot } = await import("/webxpu.mjs");

/** A bridge of its own. */
export const make = (deps = {}) => boot((/** @type {string} */ name) => import(`/${name}`), deps);

/** [name, message] of what `work` throws, or null. @param {() => any} work */
export async function caught(work) {
  try {
    await work();
    return null;
  } catch (error) {
    return [/** @type {Error} */ (error).name, /** @type {Error} */ (error).message];
  }
}

export const wait = (/** @type {number} */ ms) => new Promise((done) => setTimeout(done, ms));
export const bytesOf = (/** @type {ArrayLike<number>} */ values, Type = Float32Array) =>
  new Uint8Array(Type.from(values).buffer);

const SCALE = `override BY: f32;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(16) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&y)) { y[id.x] = x[id.x] * BY; }
}
`;

/** y = x * by over float32 buffers of `bytes`. */
export function scale(/** @type {number} */ x, /** @type {number} */ y, bytes = 64, by = 3, code = SCALE) {
  return {
    label: "scale",
    modules: [
      {
        label: "scale/kernel",
        code,
        segments: [
          ["_with/part.wgsl", 1, 1],
          ["scale/kernel.wgsl", 2, 6],
        ],
      },
    ],
    pipelines: [{ module: 0, constants: { BY: by }, access: ["read", "read_write"] }],
    groups: [
      {
        pipeline: 0,
        buffers: [
          [x, 0, bytes],
          [y, 0, bytes],
        ],
      },
    ],
    commands: [0, 0, Math.ceil(bytes / 64), 1, 1],
    labels: ["scale/kernel"],
  };
}
scale.code = SCALE;

// Step number p writes 100 + 3 p to ring[p], as a decode step appends an id, p and 2 p to rows[p], and does `work` rounds
// of arithmetic. Run number r does 1 + r % GIVES steps. Past the ring's end it goes on at its start.
const COUNT = `override WORK: u32;
override GIVES: u32;
@group(0) @binding(0) var<storage, read_write> ring: array<i32>;
@group(0) @binding(1) var<storage, read_write> state: array<u32>;
@group(0) @binding(2) var<storage, read_write> rows: array<vec2<u32>>;
@compute @workgroup_size(1) fn main() {
  var waste = state[1];
  for (var i = 0u; i < WORK; i++) { waste = waste * 1664525u + 1013904223u; }
  state[1] = waste;
  for (var step = 0u; step < 1u + state[2] % GIVES; step++) {
    let place = state[0] % arrayLength(&ring);
    ring[place] = 100 + 3 * i32(state[0]);
    rows[place] = vec2<u32>(state[0], 2u * state[0]);
    state[0] += 1u;
  }
  state[2] += 1u;
}
`;
export const idAt = (/** @type {number} */ position) => 100 + 3 * position;

/** A toy model: its program, its ring of `capacity` ids that begins at position `first`, and its state. */
export async function counter(
  /** @type {any} */ bridge,
  /** @type {number} */ device,
  { capacity = 256, first = 5, work = 1, gives = 1 } = {},
) {
  const ring = bridge.createBuffer(device, capacity * 4, "ring");
  const state = bridge.createBuffer(device, 256, "state");
  const rows = bridge.createBuffer(device, capacity * 8, "rows");
  const program = await bridge.compile(device, {
    label: "counter",
    modules: [{ label: "counter/kernel", code: COUNT, segments: [["counter/kernel.wgsl", 1, 10]] }],
    pipelines: [{ module: 0, constants: { WORK: work, GIVES: gives }, access: Array(3).fill("read_write") }],
    groups: [
      {
        pipeline: 0,
        buffers: [
          [ring, 0, capacity * 4],
          [state, 0, 256],
          [rows, 0, capacity * 8],
        ],
      },
    ],
    commands: [0, 0, 1, 1, 1],
    labels: ["counter/kernel"],
  });
  bridge.submit(device, [["write", state, 0, bytesOf([first], Uint32Array)]]);
  return { program, ring, state, rows, first };
}

/** All that a loop gives: each hand-out, and what closing it says. */
export async function drain(/** @type {any} */ bridge, /** @type {number} */ loop) {
  const handouts = [];
  const words = [];
  for (;;) {
    const { ids, done, reason, rows } = await bridge.nextIds(loop);
    handouts.push(ids);
    if (rows) words.push(...new Uint32Array(rows.buffer));
    if (done) return { handouts, ids: handouts.flat(), words, reason, closed: await bridge.closeLoop(loop) };
  }
}

/** The SHA-256 of bytes, in hexadecimal digits. @param {Uint8Array} bytes */
export async function sha256(bytes) {
  const sum = await crypto.subtle.digest("SHA-256", /** @type {any} */ (bytes));
  return [...new Uint8Array(sum)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** One load of ranges of a file: the hashes of their bytes, the error if there is one, and what the load says.
 *  @param {any} bridge @param {any} source @param {[number, number][]} ranges start and bytes of each */
export async function readLoad(bridge, source, ranges, { cache = true, together = false } = {}) {
  const load = bridge.beginLoad({ cache });
  const sums = /** @type {string[]} */ ([]);
  const one = async (/** @type {[number, number]} */ [start, bytes], /** @type {number} */ i) => {
    sums[i] = await sha256((await bridge.fetchRange({ ...source, load }, start, bytes)).bytes);
  };
  const error = await caught(async () => {
    if (together) await Promise.all(ranges.map(one));
    else for (const [i, range] of ranges.entries()) await one(range, i);
  });
  return { sums, error, ...bridge.endLoad(load) };
}

/** Every file below a folder of the private file system, by its path, and a way to change one. */
export async function opfsFiles(/** @type {any} */ folder = null, path = "") {
  folder ??= await navigator.storage.getDirectory();
  /** @type {Record<string, any>} */
  const found = {};
  for await (const [name, handle] of folder.entries()) {
    if (handle.kind === "directory") Object.assign(found, await opfsFiles(handle, `${path}${name}/`));
    else found[path + name] = handle;
  }
  return found;
}

/** Changes one byte of a file. @param {any} handle @param {number} at */
export async function flip(handle, at) {
  const bytes = new Uint8Array(await (await handle.getFile()).arrayBuffer());
  bytes[at] ^= 1;
  const writable = await handle.createWritable();
  await writable.write(bytes);
  await writable.close();
}
