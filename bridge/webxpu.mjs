// @ts-check
/**
 * Puts the bridge together. Only `worker.mjs` and `client.mjs` import other modules: the others export `create(deps)`,
 * so that the same files also run as blob modules where no server offers them.
 *
 *     const { boot } = await import(base + "webxpu.mjs");
 *     const bridge = await boot((name) => import(base + name));
 */

/** The modules of the bridge in the order in which they are made; each is given all that were made before it. */
export const MODULES = [
  "handles",
  "fences",
  "adapter",
  "device",
  "buffers",
  "pipelines",
  "program",
  "profile",
  "loop",
  "source",
  "storage",
  "reader",
  "weights",
  "tokenizer",
];

/**
 * What Python calls, by the module that has it. Everything else is for the other modules only.
 * @type {Record<string, string[]>}
 */
const PUBLIC = {
  device: ["openDevice", "closeDevice", "stats", "sync"],
  buffers: ["createBuffer", "freeBuffer", "read"],
  program: ["compile", "freeProgram", "runNow", "submit"],
  profile: ["profile"],
  loop: ["openLoop", "nextIds", "abortLoop", "closeLoop"],
  source: ["registerFile", "forgetFile"],
  reader: ["beginLoad", "abortLoad", "endLoad", "fetchRange", "cached", "forget"],
  weights: ["upload"],
  tokenizer: ["createTokenizer", "encodeText", "freeTokenizer"],
};

/**
 * @typedef {object} Dependencies
 * @property {GPU} [gpu] what opens adapters, `navigator.gpu` by default
 * @property {any} [tokenizers] the module `@huggingface/tokenizers`
 * @property {typeof fetch} [fetch]
 * @property {(device: number, why: string) => void} [onLost] called when the browser takes a device away
 * @property {(text: string) => void} [onWarning] called when the files of a load cannot be kept
 */

/**
 * Imports the bridge's modules with `load` and makes the bridge.
 * @param {(name: string) => Promise<any>} load imports one file, by its name such as "device.mjs"
 * @param {Dependencies} [deps]
 */
export async function boot(load, deps = {}) {
  const loaded = await Promise.all(MODULES.map((name) => load(`${name}.mjs`)));
  return createBridge({ ...deps, modules: Object.fromEntries(MODULES.map((name, i) => [name, loaded[i]])) });
}

/**
 * Makes the bridge of modules that are loaded already: an object of plain functions.
 * @param {Dependencies & {modules: Record<string, {create: (deps: any) => any}>}} deps
 * @returns {Record<string, (...args: any[]) => any>}
 */
export function createBridge({ modules, ...deps }) {
  /** @type {Record<string, any>} */
  const made = { gpu: globalThis.navigator?.gpu, fetch: globalThis.fetch?.bind(globalThis), ...deps };
  for (const name of MODULES) made[name] = modules[name].create(made);
  const bridge = Object.entries(PUBLIC).flatMap(([name, functions]) => functions.map((f) => [f, made[name][f]]));
  return Object.fromEntries(bridge);
}
