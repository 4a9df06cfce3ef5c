// @ts-check
// The page behind `webxpu run`, `webxpu bench` and `webxpu doctor`. The command line calls the functions that it puts on `window`, and
// offers two of its own: `webxpuPiece(text)` and `webxpuProgress(loaded, total)`.

// The command line draws progress for a person: more often would only cost time.
const PROGRESS_MS = 100;

/** @type {any} */
const host = window;
/** @type {any} */
let client = null;

/** The adapter that a page gets here, as plain data; `adapter` is null where there is none. */
async function probe() {
  const gpu = navigator.gpu;
  const adapter = (await gpu?.requestAdapter()) ?? null;
  if (!adapter) return { webgpu: Boolean(gpu), adapter: null, features: [], wgslFeatures: [], limits: {} };
  const { vendor, architecture, device, description, isFallbackAdapter, subgroupMinSize, subgroupMaxSize } =
    /** @type {any} */ (adapter.info);
  /** @type {Record<string, number>} */
  const limits = {};
  for (const name in adapter.limits) {
    const value = /** @type {any} */ (adapter.limits)[name];
    if (typeof value === "number") limits[name] = value;
  }
  return {
    webgpu: true,
    adapter: { vendor, architecture, device, description, isFallbackAdapter, subgroupMinSize, subgroupMaxSize },
    features: [...adapter.features].sort(),
    wgslFeatures: [...(gpu.wgslLanguageFeatures ?? [])].sort(),
    limits,
  };
}

/** A progress handler for the client that passes the bytes on, not too often. */
function throttled() {
  let last = 0;
  return (/** @type {{stage: string, loaded: number, total: number}} */ { stage, loaded, total }) => {
    const now = performance.now();
    if (stage !== "download" || (loaded < total && now - last < PROGRESS_MS)) return;
    last = now;
    host.webxpuProgress(loaded, total);
  };
}

/**
 * Loads a model and makes a reply. Never rejects: an error comes back as data, with the stage in which it happened.
 * @param {{url: string, chat: boolean, prompt: string, options: Record<string, any>}} job options: those of the client
 */
async function run({ url, chat, prompt, options }) {
  let stage = "start";
  try {
    const { start } = await import("../bridge/client.mjs");
    client = await start();
    stage = "load";
    const { adapter } = await client.load({ url }, { onProgress: throttled() });
    stage = "generate";
    const reply = chat ? client.chat([{ role: "user", content: prompt }], options) : client.generate(prompt, options);
    for await (const { text } of reply) await host.webxpuPiece(text);
    return { result: { ...reply.result, adapter } };
  } catch (error) {
    const { name, message } = error instanceof Error ? error : { name: "Error", message: String(error) };
    return { error: { name, message, stage } };
  }
}

/**
 * Loads a model and measures it. Errors come back as those of `run`.
 * @param {{url: string, load: Record<string, any>, options: Record<string, any>}} job load, options: those of the client
 */
async function bench({ url, load, options }) {
  const started = await caught("start", async () => (await import("../bridge/client.mjs")).start());
  if (started.error) return started;
  client = started.result;
  const loaded = await caught("load", () => client.load({ url }, { ...load, onProgress: throttled() }));
  return loaded.error ? loaded : caught("bench", () => client.bench(options));
}

/**
 * Loads a tokenizer in a Python of its own, on the page's thread, and measures it. Errors come back as those of `run`.
 * @param {Record<string, any>} job arguments of webxpu.bench.tokenizer.measure
 */
async function benchTokenizer(job) {
  const started = await caught("start", startPython);
  if (started.error) return started;
  const { pyodide } = started.result;
  const heap = () => pyodide._module.HEAPU8.byteLength;
  const module = pyodide.pyimport("webxpu.bench.tokenizer");
  const answer = await caught("bench", async () => JSON.parse(await module.measured_json(JSON.stringify(job), heap)));
  if (answer.error) return answer;
  return answer.result.error ? { error: { ...answer.result.error, stage: "load" } } : answer.result;
}

/** Python with our package on the page's own thread, as `bridge/worker.mjs` has it in a worker. */
async function startPython() {
  const site = new URL("../", import.meta.url);
  const about = await (await fetch(new URL("site.json", site))).json();
  const folder = new URL(about.pyodide, site).href;
  const [{ loadPyodide }, { boot }, tokenizers] = await Promise.all([
    import(`${folder}pyodide.mjs`),
    import("../bridge/webxpu.mjs"),
    import(new URL(about.tokenizers, site).href),
  ]);
  const pyodide = await loadPyodide({ indexURL: folder });
  pyodide.registerJsModule("webxpu_bridge", await boot((/** @type {string} */ name) => import(`../bridge/${name}`), { tokenizers }));
  await pyodide.loadPackage(["webxpu"], { messageCallback: () => {} });
  return { pyodide };
}

/** The result of some work, or its error as data. @param {string} stage @param {() => Promise<any>} work */
async function caught(stage, work) {
  try {
    return { result: await work() };
  } catch (error) {
    const { name, message } = error instanceof Error ? error : { name: "Error", message: String(error) };
    return { error: { name, message, stage } };
  }
}

Object.assign(host, {
  webxpuProbe: probe,
  webxpuRun: run,
  webxpuAbort: () => client?.abort(),
  webxpuBench: bench,
  webxpuBenchTokenizer: benchTokenizer,
});
