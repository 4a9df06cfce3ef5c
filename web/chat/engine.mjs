// @ts-check
// The one model of this page: which it is, how far it has come, and the client that runs it in a worker.

/** @typedef {import("./models.mjs").ModelSource} ModelSource */

/**
 * @typedef {object} EngineState
 * @property {"none" | "loading" | "ready" | "lost"} phase
 * @property {ModelSource | null} source                     the model that answers, or did before the loss
 * @property {any} info                                      what the client said of it
 * @property {{source: ModelSource, stage: string, loaded: number, total: number} | null} progress
 */

/**
 * @param {{
 *   start: () => Promise<any>,
 *   onChange: (state: EngineState) => void,
 *   onLost: (error: Error) => void,
 *   onWarning: (message: string) => void,
 * }} hooks   onLost: the model is gone, and why; onWarning: the browser can't keep its files
 */
export function createEngine({ start, onChange, onLost, onWarning }) {
  /** @type {Promise<any> | null} */
  let starting = null;
  /** @type {Promise<void> | null} */
  let loading = null;
  /** @type {any} */
  let running = null; // the client, once it has started
  let cancelling = new AbortController();
  let lostMeanwhile = false; // the GPU went away under the model that was there, during the load of another
  /** @type {EngineState} */
  const state = { phase: "none", source: null, info: null, progress: null };
  const change = (/** @type {Partial<EngineState>} */ part) => onChange(Object.assign(state, part));

  function client() {
    starting ??= start().then((started) => {
      started.addEventListener("lost", (/** @type {any} */ event) => {
        lost("DeviceLost", event.detail.message);
      });
      started.addEventListener("warning", (/** @type {any} */ event) => onWarning(event.detail.message));
      return (running = started);
    });
    starting.catch(() => (starting = null)); // the next attempt starts anew
    return starting;
  }

  /**
   * @param {string} name
   * @param {string} message
   */
  function lost(name, message) {
    if (state.phase === "loading") lostMeanwhile = true;
    else change({ phase: "lost" });
    onLost(Object.assign(new Error(message), { name }));
  }

  /**
   * Takes note of an error that came from the client, where it means that the model is gone.
   * @param {unknown} error
   * @returns {boolean} whether it was one; then `onLost` has told the person
   */
  function takesModel(error) {
    if (!(error instanceof Error)) return false;
    if (error.name === "DeviceLost") lost(error.name, error.message);
    else if (error.name === "Error") {
      starting = running = null; // the client's own, not Python's: its worker ended and answers no more
      lost("WorkerEnded", error.message);
    } else return false;
    return true;
  }

  /**
   * Loads a model. Where that fails, the model that was there before goes on answering.
   * @param {ModelSource} source
   */
  function load(source) {
    loading ??= run(source).finally(() => (loading = null));
    return loading;
  }

  /** @param {ModelSource} source */
  async function run(source) {
    const before = state.phase;
    lostMeanwhile = false;
    cancelling = new AbortController();
    change({ phase: "loading", progress: { source, stage: "python", loaded: 0, total: 0 } });
    try {
      const info = await (
        await client()
      ).load(source.file ?? { url: source.url }, {
        signal: cancelling.signal,
        onProgress: (/** @type {any} */ progress) => change({ progress: { source, ...progress } }),
      });
      change({ phase: "ready", source, info, progress: null });
    } catch (error) {
      change({ phase: lostMeanwhile ? "lost" : before, progress: null });
      throw error;
    }
  }

  /** The client, once a model is ready to answer. */
  async function ready() {
    if (loading) await loading;
    return client();
  }

  /** Ends a load that runs; it fails with AbortError. */
  const cancel = () => cancelling.abort();

  return { state, load, cancel, ready, takesModel, client: () => running };
}
