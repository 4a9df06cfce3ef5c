// @ts-check
/** Bytes of a URL, of a File or Blob that the page gave, or of a file in the origin's private file system. */

/**
 * @typedef {{url: string, load?: number, version?: string}} UrlSource
 *   load, version: for reader.mjs, the load it belongs to and what names its version where the server does not
 * @typedef {UrlSource | {file: string, load?: number} | {opfs: string, load?: number}} Source
 *
 * @typedef {object} Told what the server says of the whole file, null where it does not
 * @property {number | null} total its bytes
 * @property {string | null} etag
 * @property {string | null} modified its Last-Modified
 *
 * @typedef {Told & {body: ReadableStream<Uint8Array>, skip: number}} Opened
 *   skip: bytes of `body` that lie before what was asked for
 *
 * @typedef {object} Options
 * @property {AbortSignal} [signal] ends it with AbortError
 * @property {Told | null} [known] what was told before: another file in its place is FileChanged
 * @property {(told: Told) => void | Promise<void>} [onTold] called before the first byte; what it throws ends the stream
 * @property {boolean} [fresh] the browser's own cache is neither asked nor filled
 */

// How often a connection that broke is taken up again from where it broke, and how long the first pause is.
const RETRIES = 2;
const RETRY_MS = 300;
// What servers answer where there is no file; storage services say 403 to whoever may not list the folder.
const MISSING = [403, 404, 410];

/** @param {{handles: ReturnType<import("./handles.mjs").create>, fetch: typeof fetch, location?: {href: string,
 *           origin: string, protocol: string}, navigator?: {onLine?: boolean, storage: StorageManager}}} deps */
export function create({ handles, fetch, location = globalThis.location, navigator = globalThis.navigator }) {
  const { error } = handles;
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
   * @param {Options} options
   * @returns {Promise<Opened>}
   */
  async function open(source, start, end, options) {
    if ("url" in source) return openUrl(source, start, end, options);
    const blob = await blobOf(source);
    const part = blob.slice(Math.min(start, blob.size), Math.min(end, blob.size));
    return { body: part.stream(), skip: 0, total: blob.size, etag: null, modified: null };
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

  /** @param {{url: string}} source @param {number} start @param {number} end @param {Options} options
   *  @returns {Promise<Opened>} */
  async function openUrl(source, start, end, { signal, known, fresh }) {
    const { url } = source;
    if (!URL.canParse(url, location?.href)) throw failure(source, "this is not an address");
    /** @type {Record<string, string>} */
    const asked = { Range: `bytes=${start}-${end - 1}` };
    // A file that changed then comes whole instead of in part. To other origins this header would cost a request more,
    // which many refuse; there, what the answer tells of the file is compared alone.
    const home = new URL(url, location?.href).origin === location?.origin;
    if (home && known?.etag?.startsWith('"')) asked["If-Range"] = known.etag;
    let response;
    try {
      response = await fetch(url, { headers: asked, signal, ...(fresh && { cache: "no-store" }) });
    } catch (cause) {
      signal?.throwIfAborted();
      throw failure(source, `at byte ${start}: ${await whyRefused(url, /** @type {Error} */ (cause))}`, cause);
    }
    const { status, headers } = response;
    const range = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(headers.get("Content-Range") ?? "");
    const told = {
      total: range && range[2] !== "*" ? Number(range[2]) : null,
      etag: headers.get("ETag"),
      modified: headers.get("Last-Modified"),
    };
    if (status === 416) {
      await response.body?.cancel();
      return { body: new Blob([]).stream(), skip: 0, ...told };
    }
    if ((status !== 200 && status !== 206) || !response.body) {
      await response.body?.cancel();
      const said = `HTTP status ${status} ${response.statusText}`.trim();
      const what = `at byte ${start}: the server answered with ${said}`;
      throw Object.assign(failure(source, what, undefined, MISSING.includes(status)), { status });
    }
    if (status === 206) {
      if (!range?.[1] || Number(range[1]) === start) return { body: response.body, skip: 0, ...told };
      await response.body.cancel();
      throw failure(source, `at byte ${start}: the server sent bytes from ${range[1]} on`);
    }
    // The server knows no ranges and sends the whole file; what comes before is dropped as it arrives.
    const length = headers.get("Content-Encoding") ? null : headers.get("Content-Length");
    return { body: response.body, skip: start, ...told, total: length === null ? null : Number(length) };
  }

  /**
   * What a server says of a file, by asking for one byte: servers that refuse HEAD exist. Rejects with FetchError.
   * @param {{url: string}} source @param {AbortSignal} [signal] @returns {Promise<Told>}
   */
  async function ask(source, signal) {
    const { body, skip, ...told } = await openUrl(source, 0, 1, { signal, fresh: true });
    body.cancel().catch(() => {}); // a server without ranges sends all of it
    return told;
  }

  /** Whether what is told of a file now is of another one than before. @param {Told} known @param {Told} now */
  function changed(known, now) {
    if (known.etag !== now.etag || (known.total !== null && now.total !== null && known.total !== now.total)) return true;
    return known.etag === null && known.modified !== now.modified;
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
   *  @param {number} failures @param {unknown} cause @param {AbortSignal} [signal] */
  async function pause(failures, cause, signal) {
    signal?.throwIfAborted();
    if (failures > RETRIES) throw cause;
    await new Promise((later) => setTimeout(later, RETRY_MS * failures));
    signal?.throwIfAborted();
  }

  /**
   * Bytes `start` up to `end` as they arrive; a connection that breaks is taken up again. Rejects with FetchError, and
   * with FileChanged where the server has another file than the one it began to send.
   * @param {Source} source
   * @param {number} start
   * @param {number} end
   * @param {Options} [options]
   * @returns {AsyncGenerator<Uint8Array, Told>}
   */
  async function* stream(source, start, end, options = {}) {
    const { signal, onTold } = options;
    let at = start;
    let failures = 0;
    let { known = null } = options;
    let began = false;
    do {
      /** @type {Opened} */
      let opened;
      try {
        opened = await open(source, at, end, { ...options, known });
      } catch (cause) {
        if (!began) throw cause;
        await pause(++failures, cause, signal);
        continue;
      }
      const { body, skip: _, ...told } = opened;
      const reader = body.getReader();
      let { skip } = opened;
      const before = at;
      /** @type {unknown} */
      let broken = null;
      try {
        if (known && changed(known, told)) throw fileChanged(source, at);
        known = { ...told, total: told.total ?? known?.total ?? null };
        if (!began) await onTold?.(known);
        began = true;
        while (at < end) {
          const { value } = await reader.read().catch((cause) => ((broken = cause), { value: undefined }));
          signal?.throwIfAborted();
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
        const cause = failure(source, `at byte ${at}: ${said}, and ${RETRIES} new attempts failed`, broken);
        await pause(++failures, cause, signal);
      } else if (at === before || known.total === null || at >= known.total) break; // else the server caps its answers
    } while (at < end);
    if (known?.total != null && at < Math.min(end, known.total)) {
      throw failure(source, `at byte ${at}: the file should have ${known.total} bytes, but the server sends no more`);
    }
    return known ?? { total: null, etag: null, modified: null };
  }

  /** @param {Source} source @param {number} at */
  function fileChanged(source, at) {
    return error("FileChanged", `${nameOf(source)}: at byte ${at}: the file changed while it was read`);
  }

  return { registerFile, forgetFile, nameOf, stream, ask, changed, failure, fileChanged };
}
