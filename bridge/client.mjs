// @ts-check
/**
 * The page's side of webxpu: starts a worker with Python and a model in it, and talks to it by messages. The page stays
 * at full frame rate, and several pages at once each have a worker of their own.
 *
 *     const client = await start();
 *     await client.load({ url: "models/model.gguf" }, { onProgress: ({ stage, loaded, total }) => ... });
 *     const reply = client.chat([{ role: "user", content: "Hello" }], { max_tokens: 100 });
 *     for await (const { text, tokens } of reply) show(text);
 *     reply.finishReason; // "stop", "length", "context" or "abort"
 *
 * Every message to the worker has a number `id`, and all that answers it has the same. Names of options are Python's.
 *
 * | to the worker | with                                           | `value` of its result                           |
 * | ------------- | ---------------------------------------------- | ----------------------------------------------- |
 * | start         | pyodide, tokenizers: addresses                 | {pyodide: version}                              |
 * | open          | device: options of open_device                 | as info, without a model                        |
 * | load          | source: "https:...", "opfs:...", File or Blob; | as info                                         |
 * |               | device: as for open; options of load           |                                                 |
 * | chat          | messages, options of chat.stream; in           | {text, prompt_ids, ids, finish_reason,          |
 * |               | logit_bias -Infinity bans                      | reused_tokens, load_ms, prefill_ms, ...};       |
 * |               |                                                | stop_string, logprobs, speculation where asked  |
 * | generate      | prompt: text or ids; options of model.generate | the same                                        |
 * |               | and stop                                       |                                                 |
 * | abort         | target: the id of a chat, generate or load     | none: a reply ends with finish_reason "abort",  |
 * |               |                                                | a load with the error AbortError                |
 * | cached        |                                                | [{url, nbytes, total_bytes, complete}]: files   |
 * |               |                                                | that loads have kept in the browser's storage   |
 * | forget        | url: an address, or null for all               | how many of them were removed                   |
 * | tokens        | of: text, add_special; or ids                  | ids, or their text                              |
 * | check         | quick: false runs every case; only: ops' names | {passed, cases, runs, rows, failures, ...}      |
 * | bench         | options of webxpu.bench.model.measure          | the speeds of the loaded model                  |
 * | info          |                                                | {adapter, features, target, limits, model, ...} |
 * | free          |                                                | null                                            |
 *
 * | from the worker | with                                 | when                                                    |
 * | --------------- | ------------------------------------ | ------------------------------------------------------- |
 * | progress        | id, stage, loaded, total             | load: "header", "download" (bytes), "compile"; "check"; |
 * |                 |                                      | "bench": rounds                                         |
 * | piece           | id, text, tokens                     | chat and generate                                       |
 * | result          | id, value                            | once, the last answer                                   |
 * | error           | id, name, message                    | instead; the name is a class of webxpu/errors.py or     |
 * |                 |                                      | another exception's                                     |
 * | lost            | message                              | the browser took the GPU away; load a model again       |
 * | warning         | message                              | the files of a load can't be kept; it goes on           |
 */

/**
 * @typedef {{url: string} | {opfs: string} | Blob} Source
 * @typedef {{stage: string, loaded: number, total: number}} Progress
 * @typedef {{role: string, content: string}} Message
 * @typedef {{text: string, tokens: number}} Piece
 *
 * @typedef {object} Waiting
 * @property {(value: any) => void} resolve
 * @property {(error: Error) => void} reject
 * @property {((progress: Progress) => void) | undefined} onProgress
 * @property {((piece: Piece) => void) | undefined} onPiece
 */

const SITE = new URL("..", import.meta.url).href;

/**
 * Starts a worker with Python and webxpu. Rejects where its files are missing.
 * @param {{base?: string, pyodide?: string, tokenizers?: string}} [options]
 *   base: the address of a site that webxpu built, by default the one this file is from; the others are relative to it
 * @returns {Promise<Client>}
 */
export async function start({ base = SITE, pyodide = "pyodide/", tokenizers = "vendor/tokenizers.mjs" } = {}) {
  const client = new Client(new Worker(new URL("./worker.mjs", import.meta.url), { type: "module", name: "webxpu" }));
  const site = new URL(base, document.baseURI);
  try {
    await client.send("start", { pyodide: new URL(pyodide, site).href, tokenizers: new URL(tokenizers, site).href });
  } catch (error) {
    client.close();
    throw error;
  }
  return client;
}

/**
 * A worker with at most one model. Events: "lost" (detail.message: why) when the GPU is gone, "info" (detail: what
 * `info` gives) when a model was loaded, "warning" (detail.message) when a model's files can't be kept.
 */
export class Client extends EventTarget {
  /** @type {Worker} */
  #worker;
  /** @type {Map<number, Waiting>} */
  #waiting = new Map();
  /** @type {Set<number>} ids of replies that run */
  #running = new Set();
  #count = 0;
  #asked = false;

  /** @param {Worker} worker */
  constructor(worker) {
    super();
    this.#worker = worker;
    worker.addEventListener("message", ({ data }) => this.#receive(data));
    worker.addEventListener("messageerror", () => this.#fail("a message from the worker could not be read"));
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#fail(event.message || "the worker's script could not be loaded");
    });
  }

  /**
   * Loads a model, or another one in its place; where that fails, the one before goes on answering. Files from the
   * network are kept in the browser's storage, unless `cache` is false.
   * @param {Source} source
   * @param {{onProgress?: (progress: Progress) => void, signal?: AbortSignal, device?: object,
   *          [option: string]: any}} [options]
   *   device: options of open_device; the others are those of load, such as context_tokens
   * @returns {Promise<any>} as `info`
   */
  async load(source, { onProgress, signal, device = {}, ...options } = {}) {
    signal?.throwIfAborted();
    onProgress?.({ stage: "python", loaded: 0, total: 0 });
    if ("url" in source && options.cache !== false) this.#askToKeep();
    const id = ++this.#count;
    const abort = () => this.#post({ type: "abort", target: id });
    signal?.addEventListener("abort", abort, { once: true });
    const content = { source: addressOf(source), device, options };
    const info = await this.send("load", content, { onProgress }, id).finally(() =>
      signal?.removeEventListener("abort", abort),
    );
    this.dispatchEvent(new CustomEvent("info", { detail: info }));
    return info;
  }

  /**
   * The reply to a conversation, oldest message first.
   * @param {Message[]} messages
   * @param {Record<string, any>} [options] of chat.stream: stop, and those of model.generate that JSON can say:
   *   max_tokens, temperature, seed, repetition_penalty, logit_bias, dry, logprobs, prompt_lookup and so on
   */
  chat(messages, options = {}) {
    return this.#stream("chat", { messages, options });
  }

  /**
   * What follows a text or ids.
   * @param {string | number[]} prompt
   * @param {Record<string, any>} [options] of model.generate
   */
  generate(prompt, options = {}) {
    return this.#stream("generate", { prompt, options });
  }

  /** Ends every reply that runs; each ends with finishReason "abort". */
  abort() {
    for (const target of this.#running) this.#post({ type: "abort", target });
  }

  /** Asks the browser once not to remove what loads keep when the disk is full; a worker can't ask. */
  #askToKeep() {
    if (!this.#asked) navigator.storage?.persist?.().catch(() => {});
    this.#asked = true;
  }

  /** Files that loads have kept. @returns {Promise<{url: string, nbytes: number, total_bytes: number,
   *  complete: boolean}[]>} */
  cached() {
    return this.send("cached");
  }

  /** Removes a kept file or, without an address, all; says how many. @param {string} [url] @returns {Promise<number>} */
  forget(url) {
    return this.send("forget", { url: url === undefined ? null : new URL(url, document.baseURI).href });
  }

  /** The ids of a text, or the text of ids. @param {string | number[]} of @param {{add_special?: boolean}} [options] */
  tokens(of, { add_special = false } = {}) {
    return this.send("tokens", { of, add_special });
  }

  /** Opens a device without a model.
   *  @param {object} [device] options of open_device @returns {Promise<any>} as `info` */
  open(device = {}) {
    return this.send("open", { device });
  }

  /**
   * Compares ops on the open device, or on one of its own, with their NumPy definitions.
   * @param {{quick?: boolean, only?: string[], onProgress?: (progress: Progress) => void}} [options]
   * @returns {Promise<any>} a report of webxpu/report.py as an object: {passed, cases, runs, rows, failures, ...}
   */
  check({ quick = true, only, onProgress } = {}) {
    return this.send("check", { quick, only }, { onProgress });
  }

  /**
   * Measures how fast the loaded model is on this device.
   * @param {{onProgress?: (progress: Progress) => void, [option: string]: any}} [options] those of
   *   webxpu.bench.model.measure
   * @returns {Promise<any>} {read_bytes_s, prefill, decode, kernels, ...}
   */
  bench({ onProgress, ...options } = {}) {
    return this.send("bench", { options }, { onProgress });
  }

  /** What is known of the device and the model. @returns {Promise<any>} */
  info() {
    return this.send("info");
  }

  /** Gives the model's memory back. @returns {Promise<null>} */
  free() {
    return this.send("free");
  }

  /** Ends the worker and all that it does. */
  close() {
    this.#worker.terminate();
    this.#fail("the client was closed");
  }

  /**
   * Sends one message of the table and waits for its result.
   * @param {string} type
   * @param {object} [content]
   * @param {{onProgress?: (progress: Progress) => void, onPiece?: (piece: Piece) => void}} [hooks]
   * @param {number} [id]
   * @returns {Promise<any>}
   */
  send(type, content = {}, { onProgress, onPiece } = {}, id = ++this.#count) {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, onProgress, onPiece });
      this.#post({ id, type, ...content });
    });
  }

  /** @param {any} message */
  #post(message) {
    this.#worker.postMessage(message);
  }

  /** @param {string} type @param {object} content */
  #stream(type, content) {
    const id = ++this.#count;
    this.#running.add(id);
    const reply = new Reply(() => this.#running.has(id) && this.#post({ type: "abort", target: id }));
    this.send(type, content, { onPiece: (piece) => reply.push(piece) }, id)
      .then(
        (value) => reply.end(value, null),
        (error) => reply.end(null, error),
      )
      .finally(() => this.#running.delete(id));
    return reply;
  }

  /** @param {any} message */
  #receive({ id, type, ...content }) {
    if (type === "lost" || type === "warning") return this.dispatchEvent(new CustomEvent(type, { detail: content }));
    const waiting = this.#waiting.get(id);
    if (type === "progress") return waiting?.onProgress?.(content);
    if (type === "piece") return waiting?.onPiece?.(content);
    this.#waiting.delete(id);
    if (type === "result") waiting?.resolve(content.value);
    else waiting?.reject(Object.assign(new Error(content.message), { name: content.name }));
  }

  /** Nothing will answer any more. @param {string} why */
  #fail(why) {
    for (const { reject } of this.#waiting.values()) reject(new Error(why));
    this.#waiting.clear();
  }
}

/**
 * A reply as it is made: `for await (const { text, tokens } of reply)`. Leaving the loop early aborts it.
 * @implements {AsyncIterableIterator<Piece>}
 */
export class Reply {
  /** @type {Piece[]} */
  #pieces = [];
  /** @type {Error | null} */
  #error = null;
  #ended = false;
  /** @type {(() => void) | null} */
  #wake = null;
  #abort;

  /** The worker's whole result, once the reply has ended. @type {any} */
  result = null;

  /** @param {() => void} abort */
  constructor(abort) {
    this.#abort = abort;
  }

  /** "stop", "length", "context" or "abort"; null while it runs or where it failed. @returns {string | null} */
  get finishReason() {
    return this.result?.finish_reason ?? null;
  }

  abort() {
    this.#abort();
  }

  /** @param {Piece} piece */
  push(piece) {
    this.#pieces.push(piece);
    this.#wake?.();
  }

  /** @param {any} result @param {Error | null} error */
  end(result, error) {
    this.result = result;
    this.#error = error;
    this.#ended = true;
    this.#wake?.();
  }

  /** @returns {Promise<IteratorResult<Piece>>} */
  async next() {
    while (!this.#pieces.length && !this.#ended) await new Promise((wake) => (this.#wake = () => wake(undefined)));
    this.#wake = null;
    const value = this.#pieces.shift();
    if (value) return { done: false, value };
    const error = this.#error;
    this.#error = null;
    if (error) throw error;
    return { done: true, value: undefined };
  }

  /** @returns {Promise<IteratorResult<Piece>>} */
  async return() {
    this.abort();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}

/** A source as the worker takes it; addresses are the page's, not the worker's. @param {Source} source */
function addressOf(source) {
  if (source instanceof Blob) return source;
  return "url" in source ? new URL(source.url, document.baseURI).href : `opfs:${source.opfs}`;
}
