// @ts-check
// The page behind `webxpu run` and `webxpu doctor`. The command line calls the functions that it puts on `window`.

/** The adapter that a page gets here, as plain data; `adapter` is null where there is none. */
async function probe() {
  const gpu = navigator.gpu;
  const adapter = (await gpu?.requestAdapter()) ?? null;
  if (!adapter) return { webgpu: Boolean(gpu), adapter: null, features: [], wgslFeatures: [], limits: {} };
  const { vendor, architecture, device, description, isFallbackAdapter, subgroupMinSize, subgroupMaxSize } = adapter.info;
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

Object.assign(window, { webxpuProbe: probe });
