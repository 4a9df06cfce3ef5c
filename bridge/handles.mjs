// @ts-check
/**
 * Handles, the integers by which Python names buffers, programs and devices, and errors that Python makes its own.
 *
 * A handle is a slot plus a generation times 2**20, so that a freed handle is never mistaken for what took its slot.
 */

const SLOTS = 2 ** 20;

/**
 * @typedef {"device" | "buffer" | "program" | "loop" | "tokenizer" | "load"} Kind
 * @typedef {"Unsupported" | "KernelError" | "FetchError" | "FileChanged" | "FormatError" | "DeviceError" |
 *   "DeviceLost" | "OutOfMemory"} ErrorName
 */

/** @returns the table of handles and `error` */
export function create() {
  /** @type {{kind: Kind, value: any, generation: number, label: string}[]} */
  const table = [];
  /** @type {number[]} */
  const free = [];

  /**
   * An error whose name is one of the classes in webxpu/errors.py.
   * @param {ErrorName} name
   * @param {string} message
   * @param {unknown} [cause]
   */
  function error(name, message, cause) {
    const made = new Error(message, cause === undefined ? undefined : { cause });
    made.name = name;
    return made;
  }

  /**
   * @param {Kind} kind
   * @param {any} value
   * @param {string} label what messages call it
   * @returns {number}
   */
  function add(kind, value, label) {
    const slot = free.pop() ?? table.push({ kind, value: null, generation: 0, label }) - 1;
    const entry = table[slot];
    Object.assign(entry, { kind, value, label, generation: entry.generation + 1 });
    return slot + entry.generation * SLOTS;
  }

  /** @param {Kind} kind @param {unknown} handle */
  function find(kind, handle) {
    if (typeof handle !== "number" || !Number.isSafeInteger(handle) || handle < 0) {
      throw error("DeviceError", `a ${kind} handle must be an integer, got ${String(handle)}`);
    }
    const entry = table[handle % SLOTS];
    const generation = Math.floor(handle / SLOTS);
    if (!entry || generation > entry.generation || generation === 0) {
      throw error("DeviceError", `no ${kind} has the handle ${handle}; it is not from this bridge`);
    }
    if (generation < entry.generation || entry.value === null) {
      throw error("DeviceError", `the ${kind} with the handle ${handle} was freed`);
    }
    if (entry.kind !== kind) {
      throw error("DeviceError", `a ${kind} is needed, but the handle ${handle} is a ${entry.kind}, ${entry.label}`);
    }
    return entry;
  }

  /**
   * What a handle stands for. Throws DeviceError for a freed, foreign or wrong one.
   * @param {Kind} kind
   * @param {unknown} handle
   * @returns {any}
   */
  function get(kind, handle) {
    return find(kind, handle).value;
  }

  /**
   * Forgets a handle and returns what it stood for.
   * @param {Kind} kind
   * @param {unknown} handle
   * @returns {any}
   */
  function drop(kind, handle) {
    const entry = find(kind, handle);
    const value = entry.value;
    entry.value = null;
    free.push(/** @type {number} */ (handle) % SLOTS);
    return value;
  }

  /**
   * Python sends structures as JSON, which crosses faster than proxies and means the same in every version of Pyodide.
   * @template T
   * @param {T | string} data
   * @returns {T}
   */
  function plain(data) {
    return typeof data === "string" ? JSON.parse(data) : data;
  }

  return { error, add, get, drop, plain };
}
