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

// Run number p writes 100 + 3 p to ring[p], as a decode step appends an id, and does `work` rounds of arithmetic.
const COUNT = `override WORK: u32;
@group(0) @binding(0) var<storage, read_write> ring: array<i32>;
@group(0) @binding(1) var<storage, read_write> state: array<u32>;
@compute @workgroup_size(1) fn main() {
  var waste = state[1];
  for (var i = 0u; i < WORK; i++) { waste = waste * 1664525u + 1013904223u; }
  state[1] = waste;
  ring[state[0]] = 100 + 3 * i32(state[0]);
  state[0] += 1u;
}
`;
export const idAt = (/** @type {number} */ position) => 100 + 3 * position;

/** A toy model: its program, its ring of `capacity` ids that begins at position `first`, and its state. */
export async function counter(
  /** @type {any} */ bridge,
  /** @type {number} */ device,
  { capacity = 256, first = 5, work = 1 } = {},
) {
  const ring = bridge.createBuffer(device, capacity * 4, "ring");
  const state = bridge.createBuffer(device, 256, "state");
  const program = await bridge.compile(device, {
    label: "counter",
    modules: [{ label: "counter/kernel", code: COUNT, segments: [["counter/kernel.wgsl", 1, 10]] }],
    pipelines: [{ module: 0, constants: { WORK: work }, access: ["read_write", "read_write"] }],
    groups: [
      {
        pipeline: 0,
        buffers: [
          [ring, 0, capacity * 4],
          [state, 0, 256],
        ],
      },
    ],
    commands: [0, 0, 1, 1, 1],
    labels: ["counter/kernel"],
  });
  bridge.submit(device, [["write", state, 0, bytesOf([first], Uint32Array)]]);
  return { program, ring, state, first };
}

/** All that a loop gives: each hand-out, and what closing it says. */
export async function drain(/** @type {any} */ bridge, /** @type {number} */ loop) {
  const handouts = [];
  for (;;) {
    const { ids, done, reason } = await bridge.nextIds(loop);
    handouts.push(ids);
    if (done) return { handouts, ids: handouts.flat(), reason, closed: await bridge.closeLoop(loop) };
  }
}
