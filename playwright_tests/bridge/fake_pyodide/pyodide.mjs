// @ts-check
// Stands in for Pyodide in tests of worker.mjs: no Python, but the same calls, and a scripted `webxpu.worker`.

const wait = (/** @type {number} */ ms) => new Promise((done) => setTimeout(done, ms));

export async function loadPyodide(/** @type {any} */ options) {
  /** @type {any[]} */
  const calls = [["loadPyodide", Object.keys(options), options.indexURL.endsWith("/fake_pyodide/")]];
  /** @type {any} */
  let bridge = null;
  /** @type {Set<number>} */
  const aborted = new Set();

  const worker = {
    async request(/** @type {string} */ text, /** @type {any} */ progress) {
      const message = JSON.parse(text);
      if (message.type === "info") return JSON.stringify({ value: { calls, functions: Object.keys(bridge).length } });
      if (message.type === "load") {
        progress("header", 0, 0);
        if (message.source.startsWith("file:")) {
          const read = await bridge.fetchRange({ file: message.source.slice(5) }, 1, 3);
          progress("download", read.bytes.length, read.total);
        }
        if (message.source.endsWith("?unkept")) {
          Object.defineProperty(navigator, "storage", { value: {} });
          const load = bridge.beginLoad();
          await bridge.fetchRange({ url: message.source, load }, 0, 3);
          return JSON.stringify({ value: bridge.endLoad(load) });
        }
        while (message.source.endsWith("slow.gguf")) {
          await wait(1);
          if (aborted.has(message.id)) return JSON.stringify({ error: { name: "AbortError", message: "aborted" } });
        }
        if (message.source.endsWith("bad.gguf")) {
          return JSON.stringify({ error: { name: "FormatError", message: "bad.gguf: no GGUF" } });
        }
        return JSON.stringify({ value: message });
      }
      if (["cached", "forget"].includes(message.type)) return JSON.stringify({ value: message });
      if (message.type === "open") {
        const { device } = await bridge.openDevice({});
        bridge.createBuffer(device, 64, "held");
        return JSON.stringify({ value: device });
      }
      throw new TypeError(`no ${message.type}`);
    },
    stream(/** @type {string} */ text) {
      const { id, type, options, prompt } = JSON.parse(text);
      async function* pieces() {
        for (let i = 0; i < options.max_tokens; i++) {
          await wait(options.ms ?? 0);
          if (aborted.has(id)) {
            yield JSON.stringify({ value: { text: "", finish_reason: "abort", type, prompt } });
            return;
          }
          yield JSON.stringify({ text: `${i} `, tokens: 1 });
        }
        if (options.fails) yield JSON.stringify({ error: { name: "DeviceError", message: "it failed" } });
        else yield JSON.stringify({ value: { finish_reason: "length", type, prompt, options } });
      }
      return Object.assign(pieces(), { destroy: () => calls.push(["destroy", id]) });
    },
    abort: (/** @type {number} */ id) => aborted.add(id),
  };

  return {
    version: "0.0.0-fake",
    registerJsModule: (/** @type {string} */ name, /** @type {any} */ module) => {
      bridge = module;
      calls.push(["registerJsModule", name]);
    },
    loadPackage: async (/** @type {string[]} */ names) => calls.push(["loadPackage", names]),
    pyimport: (/** @type {string} */ name) => {
      calls.push(["pyimport", name]);
      return worker;
    },
  };
}
