// @ts-check
// Stands in for bridge/client.mjs in page tests: same shape, no worker, no GPU. `globalThis.fake` is its script and its
// record; a test sets the script before the page loads and changes it while the page runs.

/**
 * @typedef {object} Fake
 * @property {any[]} calls                          what the page asked for, in order
 * @property {string[][]} replies                   pieces of the next replies; the last one is given again
 * @property {number} pieceMs                       pause before each piece; 0: several pieces a task
 * @property {{name: string, message: string} | null} loadError     the next load fails once with it
 * @property {{name: string, message: string} | null} chatError     the next reply fails once with it, after its pieces
 * @property {string} finishReason                  of a reply that is not aborted
 * @property {number | null} rate                   tokens a second, as the engine gives it at the end
 * @property {number} loadMs                        duration of a load
 * @property {any[]} stored                         files that the browser keeps
 * @property {string} warning                       given by the next loads
 * @property {any} model                            what a load says of its model
 * @property {any} client
 */

const MODEL_BYTES = 98_362_432;
const LOAD_STEPS = 20;
const PIECES_PER_TASK = 4;

/** @type {Fake} */
const fake = Object.assign(/** @type {any} */ (globalThis).fake ?? {}, { calls: [], client: null });
fake.replies ??= [["The capital ", "of Japan ", "is Tokyo."]];
fake.pieceMs ??= 5;
fake.loadMs ??= 50;
fake.finishReason ??= "stop";
fake.rate ??= null;
fake.stored ??= [];
fake.warning ??= "";
fake.model ??= {};
/** @type {any} */ (globalThis).fake = fake;

const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {"loadError" | "chatError"} which */
function failOnce(which) {
  const planned = fake[which];
  fake[which] = null;
  if (planned) throw Object.assign(new Error(planned.message), { name: planned.name });
}

class Client extends EventTarget {
  #aborted = false;
  /** @type {any} */
  #reply = null;

  /** @param {any} source @param {{onProgress?: (progress: any) => void, signal?: AbortSignal}} [options] */
  async load(source, { onProgress, signal } = {}) {
    signal?.throwIfAborted();
    fake.calls.push(["load", source instanceof File ? { file: source.name } : source]);
    onProgress?.({ stage: "python", loaded: 0, total: 0 });
    await sleep(fake.loadMs / LOAD_STEPS);
    failOnce("loadError");
    for (let step = 1; step <= LOAD_STEPS; step++) {
      onProgress?.({ stage: "download", loaded: Math.round((MODEL_BYTES * step) / LOAD_STEPS), total: MODEL_BYTES });
      await sleep(fake.loadMs / LOAD_STEPS);
      signal?.throwIfAborted();
    }
    if (fake.warning) this.dispatchEvent(new CustomEvent("warning", { detail: { message: fake.warning } }));
    const adapter = { vendor: "google", architecture: "swiftshader", description: "Fake GPU" };
    return { adapter, model: fake.model };
  }

  async cached() {
    return fake.stored;
  }

  /** @param {string} [url] */
  async forget(url) {
    fake.calls.push(["forget", url ?? null]);
    return fake.stored.splice(0).length;
  }

  /** @param {any[]} messages @param {any} options */
  chat(messages, options) {
    fake.calls.push(["chat", structuredClone(messages), structuredClone(options)]);
    const reply = fake.replies.length > 1 ? fake.replies.shift() : fake.replies[0];
    this.#aborted = false;
    const stream = Object.assign(this.#stream(reply ?? []), {
      finishReason: /** @type {string | null} */ (null),
      result: /** @type {any} */ (null),
    });
    this.#reply = stream;
    return stream;
  }

  /** @param {string[]} pieces */
  async *#stream(pieces) {
    for (let i = 0; i < pieces.length; i++) {
      if (fake.pieceMs > 0 || i % PIECES_PER_TASK === 0) await sleep(fake.pieceMs);
      if (this.#aborted) break;
      yield { text: pieces[i], tokens: 1 };
    }
    failOnce("chatError");
    this.#reply.finishReason = this.#aborted ? "abort" : fake.finishReason;
    this.#reply.result = { decode_tokens_per_s: fake.rate };
  }

  abort() {
    fake.calls.push(["abort"]);
    this.#aborted = true;
  }

  /** @param {string} message */
  lose(message) {
    this.dispatchEvent(new CustomEvent("lost", { detail: { message } }));
  }
}

/** @param {any} options */
export async function start(options) {
  fake.calls.push(["start", options]);
  fake.client = new Client();
  return fake.client;
}
