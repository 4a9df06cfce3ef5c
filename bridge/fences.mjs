// @ts-check
/**
 * Work-around for a slow answer of Chromium on Linux over Vulkan.
 *
 * While a page does nothing but await one `mapAsync`, the GPU process looks at its fences by a timer of 1 to 2 ms, so
 * that a readback of 0.1 ms is reported up to 2 ms late. Any command that needs an answer makes it look at once.
 * An empty error scope is the cheapest such command. Where later work is queued, its own commands do the same, so this
 * belongs only around a lone awaited map.
 *
 * Way out: delete this file and its callers when a lone map comes back as fast without it (the timer is
 * `kHandleMoreWorkPeriodMs` in Chromium's gpu/ipc/service/command_buffer_stub.cc).
 */

// Past this the timer's 2 ms no longer show, and the pulses would only take time from the GPU process.
const PULSE_MS = 20;

export function create() {
  /**
   * Awaits `map` while sending empty error scopes.
   * @template T
   * @param {GPUDevice} device
   * @param {Promise<T>} map
   * @returns {Promise<T>}
   */
  async function kick(device, map) {
    let settled = false;
    const done = map.finally(() => (settled = true));
    done.catch(() => {});
    for (const start = performance.now(); !settled && performance.now() - start < PULSE_MS;) {
      device.pushErrorScope("internal");
      await Promise.race([device.popErrorScope().catch(() => null), done.catch(() => null)]);
    }
    return done;
  }

  return { kick };
}
