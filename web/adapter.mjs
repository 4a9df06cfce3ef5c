// @ts-check
// What this browser offers, in words: pages show it before anything is downloaded. No device is opened.

/**
 * @typedef {object} AdapterStatus
 * @property {boolean} ok
 * @property {string} title    one line: the adapter's name, or what is missing
 * @property {string} advice   what the reader can do; empty when nothing has to be done
 * @property {GPUAdapter | null} adapter
 */

/**
 * Names an adapter as a person would: the description where the browser gives one, else vendor and architecture.
 * @param {{vendor?: string, architecture?: string, device?: string, description?: string}} info
 */
export function adapterName(info) {
  const parts = [info.vendor, info.architecture].filter((part) => part);
  return info.description || info.device || parts.join(" ") || "Unnamed GPU";
}

/**
 * @param {{gpu?: GPU}} nav          the page's navigator
 * @param {boolean} secureContext    window.isSecureContext
 * @returns {Promise<AdapterStatus>}
 */
export async function adapterStatus(nav = navigator, secureContext = isSecureContext) {
  if (!nav.gpu && !secureContext) {
    return {
      ok: false,
      adapter: null,
      title: "WebGPU needs a secure page",
      advice: "Browsers offer WebGPU only over https or on localhost. Open this page at one of those addresses.",
    };
  }
  if (!nav.gpu) {
    return {
      ok: false,
      adapter: null,
      title: "This browser has no WebGPU",
      advice:
        "A recent Chrome, Edge, Safari or Firefox has it. In Chrome or Edge on Linux, turn on " +
        "chrome://flags/#enable-unsafe-webgpu and start the browser again.",
    };
  }
  const adapter = await nav.gpu.requestAdapter().catch(() => null);
  if (!adapter) {
    return {
      ok: false,
      adapter: null,
      title: "No GPU adapter was found",
      advice:
        "WebGPU is there, but the browser offers no GPU. Turn on hardware acceleration in the browser's settings, " +
        "update the graphics driver, or look at chrome://gpu for the reason.",
    };
  }
  return { ok: true, adapter, title: adapterName(adapter.info), advice: "" };
}
