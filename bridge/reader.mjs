// @ts-check
/**
 * Bytes of the files of a load: one version of each from its first byte to its last, from the private file system where
 * they are kept, and kept there as they pass by.
 */

/**
 * @typedef {import("./source.mjs").Source} Source
 * @typedef {import("./source.mjs").UrlSource} UrlSource
 * @typedef {import("./source.mjs").Told} Told
 *
 * @typedef {object} Load
 * @property {boolean} cache
 * @property {boolean} keeps false once a write has failed
 * @property {AbortController} controller
 * @property {Map<string, Promise<Known>>} files by address
 * @property {number} cachedBytes
 * @property {number} fetchedBytes
 * @property {string[]} warnings at most one: why files could not be kept
 *
 * @typedef {{bytes: number, chunkBytes: number, sha256: string[]}} Hashes of a file: its size, and for each `chunkBytes`
 *   of it (the last time fewer) their SHA-256 in hexadecimal digits
 *
 * @typedef {object} Known what a load knows of one file
 * @property {Told | null} told
 * @property {import("./storage.mjs").Entry | null} entry
 * @property {Promise<void> | null} making
 */

// Bytes of a file that are kept under one checksum, and are held in memory until then.
const RANGE_BYTES = 4 << 20;
// Where the server can't be asked whether the file has changed, what is kept of it is used.
const SERVER_TROUBLE = [408, 429];

/** @param {{handles: ReturnType<import("./handles.mjs").create>, source: ReturnType<import("./source.mjs").create>,
 *           storage: ReturnType<import("./storage.mjs").create>, location?: {href: string},
 *           onWarning?: (text: string) => void, crypto?: Crypto}} deps */
export function create(deps) {
  const { handles, source: sources, storage, location = globalThis.location, onWarning } = deps;
  const { crypto = globalThis.crypto } = deps;
  const { error, add, get, drop, plain } = handles;
  let saidUnsupported = false;

  /**
   * Begins a load: sources with its handle as `load` are read in one version, and kept where `cache` is true.
   * @param {{cache?: boolean} | string} [options] or their JSON
   */
  function beginLoad(options = {}) {
    const { cache = true } = plain(options);
    const found = { cachedBytes: 0, fetchedBytes: 0, warnings: [] };
    return add("load", { cache, keeps: cache, controller: new AbortController(), files: new Map(), ...found }, "load");
  }

  /** Ends everything that a load reads, with AbortError. @param {number} load */
  function abortLoad(load) {
    get("load", load).controller.abort();
  }

  /** Forgets a load and says what it did. @param {number} load */
  function endLoad(load) {
    const { cachedBytes, fetchedBytes, warnings } = drop("load", load);
    return { cachedBytes, fetchedBytes, warnings };
  }

  /** @param {Load} load @param {string} text */
  function warn(load, text) {
    if (load.warnings.length) return;
    load.warnings.push(text);
    onWarning?.(text);
  }

  /** Does something with the private file system; where that fails, the load goes on without it.
   *  @template T @param {Load} load @param {Known} file @param {string} url @param {() => Promise<T>} work */
  async function attempt(load, file, url, work) {
    try {
      return await work();
    } catch (cause) {
      load.keeps = false;
      const { name, message } = /** @type {Error} */ (cause);
      await file.entry?.drop().catch(() => {});
      file.entry = null;
      if (name === "Unsupported") {
        load.cache = false;
        if (!saidUnsupported) warn(load, `model files are not kept: ${message}`);
        saidUnsupported = true;
      } else if (name === "QuotaExceededError") warn(load, `${url} is not kept: no room in this browser's storage (${message})`);
      else warn(load, `${url} is not kept: ${name}: ${message}`);
      return null;
    }
  }

  /** @param {Load} load @param {UrlSource} source @returns {Promise<Known>} */
  function fileOf(load, source) {
    const key = addressOf(source.url);
    let file = load.files.get(key);
    if (!file) load.files.set(key, (file = firstLook(load, source, key)));
    return file;
  }

  /** Looks for what is kept of a file, and whether the server still has that version: one request.
   *  @param {Load} load @param {UrlSource} source @param {string} url @returns {Promise<Known>} */
  async function firstLook(load, source, url) {
    /** @type {Known} */
    const file = { told: null, entry: null, making: null };
    if (!load.cache) return file;
    const entry = await attempt(load, file, url, () => storage.find(url));
    if (!entry) return file;
    const { record } = entry;
    if (source.version !== undefined) {
      if (record.version === versionOf(source, record)) file.entry = entry;
      return file; // another version is removed when this one begins to be kept
    }
    try {
      file.told = await sources.ask(source, load.controller.signal);
    } catch (cause) {
      const { name, status } = /** @type {any} */ (cause);
      if (name !== "FetchError" || (status !== undefined && status < 500 && !SERVER_TROUBLE.includes(status))) throw cause;
      file.told = { total: record.total, etag: record.etag, modified: record.modified };
    }
    if (versionOf(source, file.told) === record.version && (file.told.total ?? record.total) === record.total) {
      file.told.total = record.total;
      file.entry = entry;
    } else await entry.drop();
    return file;
  }

  /** The server has said which file it sends; it begins to be kept.
   *  @param {Load} load @param {Known} file @param {UrlSource} source @param {Told} told */
  async function heard(load, file, source, told) {
    if (file.told && sources.changed(file.told, told)) throw sources.fileChanged(source, 0);
    file.told = { ...told, total: told.total ?? file.told?.total ?? null };
    if (!load.keeps || file.entry) return;
    await (file.making ??= begin(load, file, source, file.told));
  }

  /** @param {Load} load @param {Known} file @param {UrlSource} source @param {Told} told */
  async function begin(load, file, source, { total, etag, modified }) {
    const url = addressOf(source.url);
    const version = versionOf(source, { total, etag, modified });
    if (version === null || total === null) {
      const lacks = total === null ? "its size (Content-Length, or Content-Range)" : "an ETag or Last-Modified";
      const remedy = "From another origin these must be listed in Access-Control-Expose-Headers.";
      return warn(load, `${url} is not kept: the server does not tell ${lacks}. ${remedy}`);
    }
    const make = () => storage.make({ url, version, total, etag, modified });
    file.entry = await attempt(load, file, url, make);
  }

  /**
   * Bytes `start` up to `end` of a source as they come. Rejects with FetchError, FileChanged or AbortError.
   * @param {Source} source
   * @param {number} start
   * @param {number} end
   * @returns {AsyncGenerator<Uint8Array, Told>}
   */
  async function* stream(source, start, end) {
    /** @type {Load | null} */
    const load = source.load === undefined ? null : get("load", source.load);
    const signal = load?.controller.signal;
    if (!load || !("url" in source)) return yield* sources.stream(source, start, end, { signal });
    signal?.throwIfAborted();
    const file = await fileOf(load, source);
    let at = start;
    for (;;) {
      const last = Math.min(end, sizeOf(file) ?? end);
      if (at >= last) break;
      const kept = await file.entry?.read(at, last);
      signal?.throwIfAborted();
      if (kept) {
        at += kept.length;
        load.cachedBytes += kept.length;
        yield kept;
        continue;
      }
      const stop = file.entry?.missingUntil(at, last) ?? last;
      for await (const bytes of download(load, file, source, at, stop)) {
        at += bytes.length;
        yield bytes;
      }
      if (at < stop) break; // the file ends here
    }
    return { etag: null, modified: null, ...file.told, total: sizeOf(file) };
  }

  /**
   * The same in whole chunks, of which no byte is given out before it is held against their hash. What is given out is
   * good until the next part is asked for. Rejects with FormatError where the bytes are others.
   * @param {Source} source @param {number} start @param {number} end @param {Hashes} hashes
   */
  async function* verified(source, start, end, { bytes: size, chunkBytes, sha256 }) {
    const from = start - (start % chunkBytes);
    const to = Math.min(Math.ceil(end / chunkBytes) * chunkBytes, size);
    const chunk = new Uint8Array(Math.min(chunkBytes, to - from));
    let at = from;
    let held = 0;
    for await (const bytes of stream(source, from, to)) {
      for (let used = 0; used < bytes.length; ) {
        const length = Math.min(chunkBytes, to - at);
        const taken = Math.min(bytes.length - used, length - held);
        chunk.set(bytes.subarray(used, used + taken), held);
        used += taken;
        held += taken;
        if (held < length) continue;
        const found = hex(await crypto.subtle.digest("SHA-256", chunk.subarray(0, length)));
        const wanted = sha256[at / chunkBytes];
        if (found !== wanted) {
          const what = `the ${length} bytes at byte ${at} must be of sha256 ${wanted}, got ${found}`;
          throw error("FormatError", `${sources.nameOf(source)}: ${what}`);
        }
        yield chunk.subarray(Math.max(start - at, 0), Math.min(end - at, length));
        at += length;
        held = 0;
      }
    }
  }

  /** @param {Load} load @param {Known} file @param {UrlSource} source @param {number} start
   *  @param {number} end */
  async function* download(load, file, source, start, end) {
    const { keep, finish } = keeper(load, file, addressOf(source.url), start);
    const onTold = (/** @type {Told} */ told) => heard(load, file, source, told);
    const { signal } = load.controller;
    try {
      const options = { signal, known: file.told, fresh: load.keeps, onTold };
      for await (const bytes of sources.stream(source, start, end, options)) {
        load.fetchedBytes += bytes.length;
        await keep(bytes);
        yield bytes;
      }
    } catch (cause) {
      if (/** @type {Error} */ (cause).name === "FileChanged") {
        await file.entry?.drop().catch(() => {});
        file.entry = null;
      }
      throw cause;
    } finally {
      await finish();
    }
  }

  /** @param {Known} file */
  function sizeOf({ told, entry }) {
    return told?.total ?? entry?.record.total ?? null;
  }

  /** Gathers bytes that follow each other and keeps them, while the next ones arrive.
   *  @param {Load} load @param {Known} file @param {string} url @param {number} at */
  function keeper(load, file, url, at) {
    /** @type {Uint8Array | null} */
    let gathered = null;
    let held = 0;
    /** @type {Promise<unknown>} */
    let writing = Promise.resolve();

    async function flush() {
      const { entry } = file;
      const [start, bytes] = [at, gathered?.subarray(0, held)];
      at += held;
      held = 0;
      gathered = null;
      await writing; // at most two ranges are in memory
      if (entry && bytes?.length) writing = attempt(load, file, url, () => entry.keep(start, bytes));
    }

    /** @param {Uint8Array} bytes */
    async function keep(bytes) {
      if (!file.entry || !load.keeps) return;
      for (let used = 0; used < bytes.length; ) {
        gathered ??= new Uint8Array(RANGE_BYTES);
        const taken = Math.min(bytes.length - used, RANGE_BYTES - held);
        gathered.set(bytes.subarray(used, used + taken), held);
        held += taken;
        used += taken;
        if (held === RANGE_BYTES) await flush();
      }
    }

    async function finish() {
      await flush();
      await writing;
    }

    return { keep, finish };
  }

  /**
   * Bytes of a source: fewer than asked for where it ends before.
   * @param {Source | string} source a source, or its JSON
   * @param {number} start
   * @param {number} bytes
   * @returns {Promise<{bytes: Uint8Array, total: number | null, etag: string | null}>}
   */
  async function fetchRange(source, start, bytes) {
    const found = new Uint8Array(bytes);
    let filled = 0;
    const parts = stream(plain(source), start, start + bytes);
    for (;;) {
      const { done, value } = await parts.next();
      if (done) return { bytes: found.subarray(0, filled), total: value.total, etag: value.etag };
      found.set(value, filled);
      filled += value.length;
    }
  }

  /** An address as files are kept under it. @param {string} url */
  function addressOf(url) {
    if (!URL.canParse(url, location?.href)) return url;
    const address = new URL(url, location?.href);
    address.hash = "";
    return address.href;
  }

  /** What is kept: {url, bytes, total, complete} a file. Rejects with Unsupported. */
  async function cached() {
    return storage.list();
  }

  /** Removes what is kept of an address or, for null, of all; says of how many files. Rejects with Unsupported.
   *  @param {string | null} [url] */
  async function forget(url = null) {
    return storage.forget(url === null ? null : addressOf(url));
  }

  return { beginLoad, abortLoad, endLoad, stream, verified, fetchRange, cached, forget };
}

/** @param {ArrayBuffer} bytes */
function hex(bytes) {
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What names a version of a file: what the source says, else the server's word; null where that is not enough.
 *  @param {{version?: string}} source @param {Told} told */
function versionOf({ version }, { total, etag, modified }) {
  if (version !== undefined) return `given ${version}`;
  if (etag !== null) return `etag ${etag}`;
  return modified !== null && total !== null ? `modified ${modified}, ${total} bytes` : null;
}
