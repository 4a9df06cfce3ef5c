// @ts-check
/**
 * The worker that runs Python, the bridge and the model; pages talk to it through `client.mjs`, which has the table of
 * messages. It is a module worker and needs no `eval`.
 */

import { boot } from "./webxpu.mjs";

/** @type {any} the Python module `webxpu.worker` */
let python = null;
/** @type {any} */
let bridge = null;

/** @param {any} message */
const post = (message) => /** @type {any} */ (globalThis).postMessage(message);

/**
 * Starts Python with our package.
 * @param {{pyodide: string, tokenizers: string}} urls Pyodide's folder and the tokenizer's module
 */
async function start({ pyodide: folder, tokenizers }) {
  const { loadPyodide } = await import(`${folder}pyodide.mjs`);
  const [pyodide, library] = await Promise.all([loadPyodide({ indexURL: folder }), import(tokenizers)]);
  const onLost = (/** @type {number} */ _, /** @type {string} */ message) => post({ type: "lost", message });
  const onWarning = (/** @type {string} */ message) => post({ type: "warning", message });
  bridge = await boot((name) => import(`./${name}`), { tokenizers: library, onLost, onWarning });
  pyodide.registerJsModule("webxpu_bridge", bridge);
  await pyodide.loadPackage(["webxpu"], { messageCallback: () => {} });
  python = pyodide.pyimport("webxpu.worker");
  return { pyodide: pyodide.version };
}

/** @param {number} id @param {any} message */
async function request(id, message) {
  const file = message.source instanceof Blob ? message.source : null;
  if (file) {
    message.source = `file:${/** @type {File} */ (file).name ?? `blob ${id}`}`;
    bridge.registerFile(message.source.slice(5), file);
  }
  const progress = (/** @type {string} */ stage, /** @type {number} */ loaded, /** @type {number} */ total) =>
    post({ id, type: "progress", stage, loaded, total });
  try {
    answer(id, JSON.parse(await python.request(JSON.stringify({ id, ...message }), progress)));
  } finally {
    if (file) bridge.forgetFile(message.source.slice(5));
  }
}

/** Drives Python's generator from here, so that a piece costs Python no call into JavaScript.
 *  @param {number} id @param {any} message */
async function stream(id, message) {
  const pieces = python.stream(JSON.stringify({ id, ...message }));
  try {
    for await (const text of pieces) {
      const piece = JSON.parse(text);
      if ("text" in piece) post({ id, type: "piece", ...piece });
      else answer(id, piece);
    }
  } finally {
    pieces.destroy();
  }
}

/** @param {number} id @param {{value?: any, error?: {name: string, message: string}}} answered */
function answer(id, { value, error }) {
  post(error ? { id, type: "error", ...error } : { id, type: "result", value: value ?? null });
}

addEventListener("message", async (event) => {
  const { id, ...message } = /** @type {MessageEvent} */ (event).data;
  try {
    if (message.type === "abort") python?.abort(message.target);
    else if (message.type === "start") answer(id, { value: await start(message) });
    else if (message.type === "chat" || message.type === "generate") await stream(id, message);
    else await request(id, message);
  } catch (error) {
    const { name, message: text } = /** @type {Error} */ (error);
    answer(id, { error: { name, message: text } });
  }
});
