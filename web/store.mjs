// @ts-check
// Small values kept in the browser as JSON. A browser that forbids storage or has none left only forgets sooner.

/**
 * @param {"local" | "session"} area
 * @returns {Storage | null}
 */
function storage(area) {
  try {
    return area === "local" ? localStorage : sessionStorage;
  } catch {
    return null; // cookies and site data are blocked: the property itself throws
  }
}

/**
 * @param {"local" | "session"} area
 * @param {string} key
 * @returns {any} the stored value, or null where there is none or it isn't JSON
 */
export function recall(area, key) {
  try {
    return JSON.parse(storage(area)?.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/**
 * @param {"local" | "session"} area
 * @param {string} key
 * @param {unknown} value   null forgets the key
 */
export function remember(area, key, value) {
  try {
    if (value === null) storage(area)?.removeItem(key);
    else storage(area)?.setItem(key, JSON.stringify(value));
  } catch {
    // over the quota: what was there stays
  }
}
