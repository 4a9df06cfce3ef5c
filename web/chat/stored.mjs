// @ts-check
// What this browser keeps of models, in the model dialog: how much, and a button that removes it.

import { megabytes } from "./progress.mjs";

/** @typedef {{url: string, nbytes: number, total_bytes: number, complete: boolean}} StoredFile */

/**
 * @param {(id: string) => any} find                an element by its id
 * @param {{
 *   client: () => any,
 *   loaded: () => any,
 *   announce: (text: string) => void,
 * }} hooks   client: the one that runs, or null; loaded: what it said of the model that answers, or null
 */
export function wireStored(find, { client, loaded, announce }) {
  const section = /** @type {HTMLElement} */ (find("stored"));

  async function show() {
    /** @type {StoredFile[]} */
    const files = (await client()?.cached().catch(() => [])) ?? []; // a browser without storage has none
    const bytes = files.reduce((sum, file) => sum + file.nbytes, 0);
    section.hidden = files.length === 0;
    const { fetched_bytes: fetched, cached_bytes: cached } = loaded() ?? {};
    const from = fetched === 0 && cached > 0 ? " The model that is loaded came from here." : "";
    const count = files.length === 1 ? "1 file" : `${files.length} files`;
    find("stored-about").textContent = `${megabytes(bytes)} in ${count}: no download the next time.${from}`;
  }

  find("forget-stored").addEventListener("click", async () => {
    const count = await client().forget();
    await show();
    find("models").querySelector("[data-close]").focus(); // the button is gone
    announce(count === 1 ? "1 file was removed" : `${count} files were removed`);
  });
  find("models").addEventListener("toggle", (/** @type {ToggleEvent} */ event) => {
    if (event.newState === "open") show();
  });
}
