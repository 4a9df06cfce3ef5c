// @ts-check
/** Bytes of a URL, of a File or Blob that the page gave, or of a file in the origin's private file system. */

/**
 * @typedef {{url: string} | {file: string} | {opfs: string}} Source
 *
 * @typedef {object} Opened
 * @property {ReadableStream<Uint8Array>} body
 * @property {number} skip bytes of `body` that lie before what was asked for
 * @property {number | null} total the whole file's bytes, where the server says so
 * @property {string | null} etag
 */

// How often a connection that broke is taken up again from where it broke, and how long the first pause is.
const RETRIES = 2;
const RETRY_MS = 300;
// What servers answer where there is no file; storage services say 403 to whoever may not list the folder.
const MISSING = [403, 404, 410];

/** @param {{handles: ReturnType<import("./handles.mjs").create>, fetch: typeof fetch, location?: {href: string,
 *           origin: string, protocol: string}, navigator?: {onLine?: boolean, storage: StorageManager}}} deps */
export function create({ handles, fetch, location = globalThis.location, navigator = globalThis.navigator }) {
  const { error, plain } = handles;
  /** @type {Map<string, Blob>} */
  const files = new Map();

  /** Names a File or Blob so that Python can read it as {file: name}. @param {string} name @param {Blob} blob */
  function registerFile(name, blob) {
    files.set(name, blob);
  }

  /** @param {string} name */
  function forgetFile(name) {
    files.delete(name);
  }

  /** What messages call a source. @param {Source} source */
  function nameOf(source) {
    if ("url" in source) return source.url;
    return "file" in source ? `file ${source.file}` : `opfs ${source.opfs}`;
  }

  /** @param {Source} source @param {string} what @param {unknown} [cause]
   *  @param {boolean} [missing] whether there is no such file */
  function failure(source, what, cause, missing = false) {
    return Object.assign(error("FetchError", `${nameOf(source)}: ${what}`, cause), { missing });
  }

  /**
   * Opens bytes `start` up to `end` of a source. Rejects with FetchError.
   * @param {Source} source
   * @param {number} start
   * @param {number} end
   * @returns {Promise<Opened>}
   */
  async function open(source, start, end) {
    if ("url" in source) return openUrl(source, start, end);
    const blob = await blobOf(source);
    const part = blob.slice(Math.min(start, blob.size), Math.min(end, blob.size));
    return { body: part.stream(), skip: 0, total: blob.size, etag: null };
  }

  /** @param {{file: string} | {opfs: string}} source @returns {Promise<Blob>} */
  async function blobOf(source) {
    if ("file" in source) {
      const blob = files.get(source.file);
      if (blob) return blob;
      throw failure(source, "the page has registered no file of this name", undefined, true);
    }
    try {
      const names = source.opfs.split("/").filter(Boolean);
      let folder = await navigator.storage.getDirectory();
      for (const name of names.slice(0, -1)) folder = await folder.getDirectoryHandle(name);
      return await (await folder.getFileHandle(names.at(-1) ?? "")).getFile();
    } catch (cause) {
      const { name, message } = /** @type {Error} */ (cause);
      throw failure(source, `it cannot be opened (${message})`, cause, name === "NotFoundError");
    }
  }

  /** @param {{url: string}} source @param {number} start @param {number} end @returns {Promise<Opened>} */
  async function openUrl(source, start, end) {
    const { url } = source;
    if (!URL.canParse(url, location?.href)) throw failure(source, "this is not an address");
    let response;
    try {
      response = await fetch(url, { headers: { Range: `bytes=${start}-${end - 1}` } });
    } catch (cause) {
      throw failure(source, `at byte ${start}: ${await whyRefused(url, /** @type {Error} */ (cause))}`, cause);
    }
    const { status, headers } = response;
    const range = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(headers.get("Content-Range") ?? "");
    const total = range && range[2] !== "*" ? Number(range[2]) : null;
    const etag = headers.get("ETag");
    if (status === 416) return { body: new Blob([]).stream(), skip: 0, total, etag };
    if ((status !== 200 && status !== 206) || !response.body) {
      await response.body?.cancel();
      const said = `HTTP status ${status} ${response.statusText}`.trim();
      const what = `at byte ${start}: the server answered with ${said}`;
      throw failure(source, what, undefined, MISSING.includes(status));
    }
    if (status === 206) {
      if (!range?.[1] || Number(range[1]) === start) return { body: response.body, skip: 0, total, etag };
      await response.body.cancel();
      throw failure(source, `at byte ${start}: the server sent bytes from ${range[1]} on`);
    }
    // The server knows no ranges and sends the whole file; what comes before is dropped as it arrives.
    const length = headers.get("Content-Encoding") ? null : headers.get("Content-Length");
    return { body: response.body, skip: start, total: length === null ? null : Number(length), etag };
  }

  /** Why the browser refused or failed to fetch, in words that help. @param {string} url @param {Error} cause */
  async function whyRefused(url, cause) {
    const said = `(${cause.message})`;
    const target = new URL(url, location?.href);
    if (navigator?.onLine === false) return `this machine is offline ${said}`;
    if (location?.protocol === "https:" && target.protocol === "http:") {
      return `a page that is served over https cannot load from http ${said}. Serve the file over https.`;
    }
    if (target.origin === location?.origin) return `the connection failed ${said}`;
    try {
      await fetch(url, { method: "HEAD", mode: "no-cors" });
    } catch {
      return `could not connect to ${target.host} ${said}: no such host, no network, or blocked by the page's policy`;
    }
    const remedy = `It must send the header Access-Control-Allow-Origin.`;
    return `the server ${target.host} is there but does not let this page read it (CORS) ${said}. ${remedy}`;
  }

  /** Waits before the next attempt, or throws `cause` after enough of them.
   *  @param {number} failures @param {unknown} cause */
  async function pause(failures, cause) {
    if (failures > RETRIES) throw cause;
    await new Promise((later) => setTimeout(later, RETRY_MS * failures));
  }

  /**
   * Bytes `start` up to `end` as they arrive; a connection that breaks is taken up again. Rejects with FetchError.
   * @param {Source} source
   * @param {number} start
   * @param {number} end
   * @returns {AsyncGenerator<Uint8Array, {total: number | null, etag: string | null}>}
   */
  async function* stream(source, start, end) {
    let at = start;
    let failures = 0;
    /** @type {Opened | null} */
    let known = null;
    do {
      /** @type {Opened} */
      let opened;
      try {
        opened = await open(source, at, end);
      } catch (cause) {
        if (!known) throw cause;
        await pause(++failures, cause);
        continue;
      }
      if (known && (known.etag !== opened.etag || known.total !== opened.total)) {
        await opened.body.cancel();
        throw failure(source, `at byte ${at}: the file changed while it was read`);
      }
      known = opened;
      const reader = opened.body.getReader();
      let { skip } = opened;
      const before = at;
      /** @type {unknown} */
      let broken = null;
      try {
        while (at < end) {
          const { value } = await reader.read().catch((cause) => ((broken = cause), { value: undefined }));
          if (!value) break;
          const dropped = Math.min(skip, value.length);
          skip -= dropped;
          const bytes = value.subarray(dropped, dropped + end - at);
          if (!bytes.length) continue;
          at += bytes.length;
          failures = 0;
          yield bytes;
        }
      } finally {
        reader.cancel().catch(() => {}); // it may be broken already
      }
      if (broken) {
        const said = `the connection broke (${/** @type {Error} */ (broken).message})`;
        await pause(++failures, failure(source, `at byte ${at}: ${said}, and ${RETRIES} new attempts failed`, broken));
      } else if (at === before || known.total === null || at >= known.total) break; // else the server caps its answers
    } while (at < end);
    return { total: known?.total ?? null, etag: known?.etag ?? null };
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
      if (done) return { bytes: found.subarray(0, filled), ...value };
      found.set(value, filled);
      filled += value.length;
    }
  }

  return { registerFile, forgetFile, fetchRange, stream, failure };
}
