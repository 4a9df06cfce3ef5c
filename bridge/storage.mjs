// @ts-check
/**
 * Files from the network, kept by byte ranges in the origin's private file system (OPFS):
 *
 *     webxpu-files/<hash of the address>/<hash of the version>/record.json   a Record
 *                                                             /<start>-<end> these bytes, then their SHA-256
 *
 * Each range has its own checksum and is never changed, so nothing has to be written in order: a tab may end at any
 * moment, and what it left is whole or is found out. What is there is what the folder lists. All tabs read at once;
 * whoever writes or removes holds the Web Lock of the address for that moment.
 */

/**
 * @typedef {object} Record
 * @property {string} url
 * @property {string} version
 * @property {number} total bytes of the whole file
 * @property {string | null} etag
 * @property {string | null} modified
 * @property {number} stored when it was begun, in ms since 1970
 *
 * @typedef {{start: number, end: number}} Range
 * @typedef {Awaited<ReturnType<ReturnType<typeof create>["find"]>>} Found
 * @typedef {NonNullable<Found>} Entry
 */

const FOLDER = "webxpu-files";
const RECORD = "record.json";
// A kept range shorter than this inside of what must be fetched is fetched again, which is quicker than two requests.
const LEAST_BYTES = 256 << 10;
// Another tab may be reading what is to be removed; its handles live for milliseconds.
const REMOVALS = 5;
const REMOVAL_MS = 40;

/** @param {{handles: ReturnType<import("./handles.mjs").create>, navigator?: any, crypto?: Crypto}} deps */
export function create({ handles, navigator = globalThis.navigator, crypto = globalThis.crypto }) {
  const { error } = handles;
  let persisted = false;

  /** The folder of all files; null where there is none yet. Rejects with Unsupported. @param {boolean} make */
  async function top(make) {
    if (!navigator?.storage?.getDirectory || !navigator.locks || !crypto?.subtle) {
      throw error("Unsupported", "this browser has no private file system here; a page must be served over https");
    }
    let origin;
    try {
      origin = await navigator.storage.getDirectory();
    } catch (cause) {
      throw error("Unsupported", `the browser gives no private file system (${said(cause)})`, cause);
    }
    return origin.getDirectoryHandle(FOLDER, { create: make }).catch(absent);
  }

  /** @param {string | ArrayBuffer | Uint8Array} data */
  async function digest(data) {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    return new Uint8Array(await crypto.subtle.digest("SHA-256", /** @type {any} */ (bytes)));
  }

  /** A folder's name for an address or a version. @param {string} text */
  async function nameOf(text) {
    return [...(await digest(text)).subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** @template T @param {string} key @param {() => Promise<T>} work @returns {Promise<T>} */
  function locked(key, work) {
    return navigator.locks.request(`${FOLDER} ${key}`, work);
  }

  /**
   * What is kept of an address, null for nothing. Rejects with Unsupported where there is no private file system.
   * @param {string} url
   */
  async function find(url) {
    const all = await top(false);
    const key = await nameOf(url);
    const folder = await all?.getDirectoryHandle(key).catch(absent);
    if (!folder) return null;
    return locked(key, async () => {
      const kept = [];
      for await (const [name, version] of folder.entries()) {
        const record = await recordOf(version);
        if (record) kept.push({ version, record });
        else await remove(folder, name);
      }
      kept.sort((a, b) => b.record.stored - a.record.stored);
      return kept.length ? entryOf(key, folder, kept[0].version, kept[0].record) : null;
    });
  }

  /**
   * Begins to keep a version of a file, or goes on; other versions are removed. Rejects with Unsupported, or with
   * QuotaExceededError where the browser has no room for it.
   * @param {Omit<Record, "stored">} record
   */
  async function make(record) {
    persist();
    const all = await top(true);
    const [key, wanted] = await Promise.all([nameOf(record.url), nameOf(record.version)]);
    return locked(key, async () => {
      const folder = await all.getDirectoryHandle(key, { create: true });
      for await (const name of folder.keys()) if (name !== wanted) await remove(folder, name);
      const version = await folder.getDirectoryHandle(wanted, { create: true });
      const old = await recordOf(version);
      const stored = old?.total === record.total ? old : { ...record, stored: Date.now() };
      try {
        const ranges = stored === old ? await rangesOf(version) : [];
        await hasRoom(record.total - covered(ranges));
        if (stored !== old) await write(version, RECORD, [new TextEncoder().encode(JSON.stringify(stored))]);
      } catch (cause) {
        await remove(folder, wanted);
        throw cause;
      }
      return entryOf(key, folder, version, stored);
    });
  }

  /** Asks the browser once not to remove what is kept when the disk is full. Workers have no such question. */
  function persist() {
    if (!persisted) navigator?.storage?.persist?.().catch(() => {});
    persisted = true;
  }

  /** @param {number} bytes */
  async function hasRoom(bytes) {
    const { quota, usage } = (await navigator.storage.estimate?.().catch(() => null)) ?? {};
    if (!(quota - usage < bytes)) return;
    throw new DOMException(`${bytes} bytes are needed, and ${quota - usage} are free`, "QuotaExceededError");
  }

  /** @param {string} key @param {any} folder @param {any} version @param {Record} record */
  async function entryOf(key, folder, version, record) {
    const ranges = await rangesOf(version);
    /** @type {Set<Range>} */
    const verified = new Set();
    let turn = Promise.resolve(); // one range is read at a time, so that memory is bounded

    /** Bytes from `at` on, at most up to `end`; null where none are kept. @param {number} at @param {number} end */
    async function read(at, end) {
      const before = turn;
      let done = () => {};
      turn = new Promise((resolve) => (done = () => resolve(undefined)));
      await before;
      try {
        return await readNow(at, end);
      } finally {
        done();
      }
    }

    /** @param {number} at @param {number} end */
    async function readNow(at, end) {
      for (;;) {
        const range = longest(ranges, at);
        if (!range) return null;
        const { start } = range;
        const stop = Math.min(end, range.end);
        if (verified.has(range)) {
          const part = await bytesOf(version, fileOf(range), at - start, stop - start);
          if (part?.length === stop - at) return part;
        } else {
          const whole = await bytesOf(version, fileOf(range));
          const size = range.end - start;
          if (whole) {
            const sum = await digest(whole.subarray(0, size));
            if (sum.every((byte, i) => byte === whole[size + i])) {
              verified.add(range);
              return whole.subarray(at - start, stop - start);
            }
          }
        }
        await discard(range); // damaged, or another tab has removed it
      }
    }

    /** @param {Range} range */
    async function discard(range) {
      const place = ranges.indexOf(range);
      if (place < 0) return; // a longer one has taken its place meanwhile
      ranges.splice(place, 1);
      await locked(key, () => remove(version, fileOf(range)));
    }

    /** Where what must be fetched from `at` on ends: at a kept range that is worth a request, or at `end`.
     *  @param {number} at @param {number} end */
    function missingUntil(at, end) {
      const worth = ranges.filter((r) => r.start > at && (r.end - r.start >= LEAST_BYTES || r.end === record.total));
      return Math.min(end, ...worth.map((range) => range.start));
    }

    /** Keeps bytes. Rejects with QuotaExceededError. @param {number} start @param {Uint8Array} bytes */
    async function keep(start, bytes) {
      const range = { start, end: start + bytes.length };
      const sum = await digest(bytes);
      await locked(key, async () => {
        if (ranges.some((other) => other.start <= start && other.end >= range.end)) return;
        const there = await version.getFileHandle(fileOf(range)).catch(absent);
        if (!there) await write(version, fileOf(range), [bytes, sum]); // else another tab has just kept it
        const within = ranges.filter((other) => other.start >= start && other.end <= range.end);
        ranges.push(range);
        for (const other of within) {
          ranges.splice(ranges.indexOf(other), 1);
          await remove(version, fileOf(other));
        }
      });
    }

    /** Removes this version. */
    async function drop() {
      ranges.length = 0;
      await locked(key, () => remove(folder, version.name));
    }

    return { record, read, missingUntil, keep, drop };
  }

  /** What is kept: {url, bytes, total, complete} a file. Rejects with Unsupported. */
  async function list() {
    const found = [];
    for await (const folder of (await top(false))?.values() ?? []) {
      for await (const version of folder.values()) {
        const record = await recordOf(version);
        if (!record) continue;
        const bytes = covered(await rangesOf(version));
        found.push({ url: record.url, bytes, total: record.total, complete: bytes === record.total });
      }
    }
    return found.sort((a, b) => (a.url < b.url ? -1 : 1));
  }

  /** Removes one address or, for null, all; says how many files that were. @param {string | null} url */
  async function forget(url) {
    const all = await top(false);
    if (!all) return 0;
    const wanted = url === null ? null : await nameOf(url);
    const names = [];
    for await (const name of all.keys()) if (wanted === null || name === wanted) names.push(name);
    for (const name of names) await locked(name, () => remove(all, name));
    return names.length;
  }

  return { find, make, list, forget };
}

/** @param {unknown} cause @returns {null} */
function absent(cause) {
  if (/** @type {Error} */ (cause).name === "NotFoundError") return null;
  throw cause;
}

/** @param {unknown} cause */
function said(cause) {
  return /** @type {Error} */ (cause).message;
}

/** @param {Range} range */
function fileOf({ start, end }) {
  return `${start}-${end}`;
}

/** The range that reaches furthest of those with byte `at`. @param {Range[]} ranges @param {number} at */
function longest(ranges, at) {
  const holding = ranges.filter(({ start, end }) => start <= at && at < end);
  return holding.sort((a, b) => b.end - a.end)[0];
}

/** Bytes that ranges hold together; they may overlap. @param {Range[]} ranges */
function covered(ranges) {
  let bytes = 0;
  let reached = 0;
  for (const { start, end } of [...ranges].sort((a, b) => a.start - b.start)) {
    bytes += Math.max(0, end - Math.max(start, reached));
    reached = Math.max(reached, end);
  }
  return bytes;
}

/** @param {any} folder @returns {Promise<Range[]>} */
async function rangesOf(folder) {
  const found = [];
  for await (const name of folder.keys()) {
    const [, start, end] = /^(\d+)-(\d+)$/.exec(name) ?? [];
    if (end) found.push({ start: Number(start), end: Number(end) });
  }
  return found;
}

/** @param {any} folder @returns {Promise<Record | null>} null where it is missing or cut off */
async function recordOf(folder) {
  try {
    const record = JSON.parse(new TextDecoder().decode((await bytesOf(folder, RECORD)) ?? undefined));
    return typeof record.url === "string" && Number.isSafeInteger(record.total) ? record : null;
  } catch {
    return null;
  }
}

/**
 * Bytes `from` up to `to` of a file; null where it is gone. A dedicated worker reads by handles that tabs share, which is
 * quickest; elsewhere, and where a browser does not share them, a Blob does.
 * @param {any} folder @param {string} name @param {number} [from] @param {number} [to]
 */
async function bytesOf(folder, name, from = 0, to = Infinity) {
  try {
    const file = await folder.getFileHandle(name);
    const handle = await file.createSyncAccessHandle?.({ mode: "read-only" }).catch(() => null);
    if (!handle) {
      const blob = await file.getFile();
      return new Uint8Array(await blob.slice(from, Math.min(to, blob.size)).arrayBuffer());
    }
    try {
      const bytes = new Uint8Array(Math.max(0, Math.min(to, handle.getSize()) - from));
      return bytes.subarray(0, handle.read(bytes, { at: from }));
    } finally {
      handle.close();
    }
  } catch {
    return null;
  }
}

/**
 * Writes a new file. Rejects with QuotaExceededError and leaves none. Past the quota a handle's write throws nothing but
 * returns a count that is short, or wrapped.
 * @param {any} folder @param {string} name @param {Uint8Array[]} parts
 */
async function write(folder, name, parts) {
  const file = await folder.getFileHandle(name, { create: true });
  try {
    if (!file.createSyncAccessHandle) {
      const writable = await file.createWritable();
      for (const part of parts) await writable.write(part);
      await writable.close();
      return;
    }
    const handle = await file.createSyncAccessHandle();
    try {
      let at = 0;
      handle.truncate(0);
      for (const part of parts) {
        const count = handle.write(part, { at });
        if (count !== part.length) {
          throw new DOMException(`${count} of ${part.length} bytes were written`, "QuotaExceededError");
        }
        at += count;
      }
    } finally {
      handle.close();
    }
  } catch (cause) {
    await remove(folder, name);
    const { name: kind, message } = /** @type {Error} */ (cause);
    // Chromium breaks the pipe where the quota is passed while bytes are under way.
    throw kind === "AbortError" ? new DOMException(message, "QuotaExceededError") : cause;
  }
}

/** Removes a file or folder, where that is possible. @param {any} folder @param {string} name */
async function remove(folder, name) {
  for (let attempt = 0; attempt < REMOVALS; attempt++) {
    try {
      return await folder.removeEntry(name, { recursive: true });
    } catch (cause) {
      if (/** @type {Error} */ (cause).name === "NotFoundError") return;
      await new Promise((later) => setTimeout(later, REMOVAL_MS));
    }
  }
}
