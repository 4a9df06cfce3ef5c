// @ts-check
/** Adapters: finding one, what to ask of it, and what it says about itself. */

// Features that are asked for where the adapter has them; each changes which kernels or measurements are possible.
const FEATURES = [
  "timestamp-query",
  "chromium-experimental-timestamp-query-inside-passes",
  "shader-f16",
  "subgroups",
  "subgroup-size-control",
  "chromium-experimental-subgroup-matrix",
];
// Adapters that compute on the CPU but do not always say so.
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|basic render|\bwarp\b/i;
const INFO = ["vendor", "architecture", "device", "description"];

/** @param {{gpu: GPU | undefined, handles: ReturnType<import("./handles.mjs").create>}} deps */
export function create({ gpu, handles }) {
  const { error } = handles;

  /** @param {"low-power" | "high-performance" | null} power @returns {Promise<GPUAdapter>} */
  async function findAdapter(power) {
    if (!gpu) {
      const why = globalThis.isSecureContext
        ? "This browser has no WebGPU, or it is switched off."
        : "WebGPU needs a secure context. Serve the page over https or from localhost.";
      throw error("Unsupported", `open_device: navigator.gpu is missing. ${why}`);
    }
    const adapter = await gpu.requestAdapter(power ? { powerPreference: power } : {});
    if (adapter) return adapter;
    throw error("Unsupported", "open_device: the browser offers no WebGPU adapter; see its GPU page (chrome://gpu)");
  }

  /**
   * The features to ask for: every known one that the adapter has, or exactly those named.
   * @param {GPUAdapter} adapter
   * @param {"all" | string[]} wanted
   * @returns {GPUFeatureName[]}
   */
  function chooseFeatures(adapter, wanted) {
    const have = [...adapter.features];
    const chosen = wanted === "all" ? FEATURES.filter((f) => have.includes(f)) : [...wanted];
    const missing = chosen.filter((f) => !have.includes(f));
    if (!missing.length) return /** @type {any} */ (chosen);
    throw error(
      "Unsupported",
      `open_device: the adapter lacks ${missing.join(", ")}; it has ${have.sort().join(", ")}`,
    );
  }

  return { findAdapter, chooseFeatures, numbers, describe };
}

/** @param {GPUSupportedLimits} limits @returns {Record<string, number>} */
function numbers(limits) {
  /** @type {Record<string, number>} */
  const found = {};
  for (const name in limits) {
    const value = /** @type {any} */ (limits)[name];
    if (typeof value === "number") found[name] = value;
  }
  return found;
}

/** @param {GPUAdapterInfo} info */
function describe(info) {
  const texts = Object.fromEntries(INFO.map((name) => [name, String(/** @type {any} */ (info)[name] ?? "")]));
  return {
    ...texts,
    isFallbackAdapter: Boolean(info.isFallbackAdapter) || SOFTWARE.test(Object.values(texts).join(" ")),
    subgroupMinSize: info.subgroupMinSize ?? 0,
    subgroupMaxSize: info.subgroupMaxSize ?? 0,
  };
}
