// @ts-check
// Where a model can come from: this site, an address, or a file chosen or dropped.

/**
 * @typedef {object} ModelSource
 * @property {string} name           what the page calls it
 * @property {string} [url]          absolute
 * @property {File} [file]
 */

/** The model this site serves, and what a person wants to know before fetching it. */
export const SERVED = {
  source: {
    name: "SmolLM2 135M Instruct",
    url: new URL("../models/SmolLM2-135M-Instruct.Q4_1.gguf", import.meta.url).href,
  },
  about: "98 MB, Q4_1, Apache-2.0. Served by this site.",
};

/**
 * @param {string} text   what a person typed
 * @returns {ModelSource}
 * @throws {TypeError} with a text for the person
 */
export function sourceFromAddress(text) {
  let url;
  try {
    const bare = /^[\w-]+(\.[\w-]+)*\.[a-z]+\//i.test(text.trim()); // models.example/a.gguf
    url = new URL(bare ? `https://${text.trim()}` : text.trim(), location.href);
  } catch {
    throw new TypeError("That isn't an address. It begins with https://");
  }
  if (!/^https?:$/.test(url.protocol)) throw new TypeError("The address must begin with https:// or http://");
  if (url.protocol === "http:" && !/^(localhost|127\.0\.0\.1)$/.test(url.hostname)) {
    throw new TypeError("An http address works only on this computer. Use https://");
  }
  // Hugging Face's page about a file is not the file.
  if (url.hostname === "huggingface.co") url.pathname = url.pathname.replace("/blob/", "/resolve/");
  return { name: nameOf(url.pathname), url: url.href };
}

/**
 * @param {File} file
 * @returns {ModelSource}
 */
export const sourceFromFile = (file) => ({ name: nameOf(file.name), file });

/** @param {string} path */
function nameOf(path) {
  const last = path.split("/").filter(Boolean).at(-1) ?? path;
  return decodeURIComponent(last).replace(/\.gguf$/i, "") || "model";
}

/**
 * Wires the model dialog and the page as a drop target.
 * @param {(id: string) => any} find                    an element by its id
 * @param {(source: ModelSource) => void} choose
 */
export function wireModelPicker(find, choose) {
  const dialog = /** @type {HTMLDialogElement} */ (find("models"));
  const address = /** @type {HTMLInputElement} */ (find("model-url"));
  const picker = /** @type {HTMLInputElement} */ (find("model-file"));
  const pick = (/** @type {ModelSource} */ source) => {
    dialog.close();
    choose(source);
  };

  find("served-name").textContent = find("card-name").textContent = SERVED.source.name;
  find("served-about").textContent = find("card-about").textContent = SERVED.about;
  for (const id of ["model-button", "other-model"]) find(id).addEventListener("click", () => dialog.showModal());
  for (const id of ["load-served", "load-default"]) find(id).addEventListener("click", () => pick(SERVED.source));

  address.addEventListener("input", () => address.setCustomValidity(""));
  find("url-form").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      pick(sourceFromAddress(address.value));
    } catch (error) {
      address.setCustomValidity(/** @type {Error} */ (error).message);
      address.reportValidity();
    }
  });

  find("choose-file").addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => {
    const file = picker.files?.[0];
    picker.value = ""; // the same file can be chosen again
    if (file) pick(sourceFromFile(file));
  });
  wireDrop(find("drop"), (file) => pick(sourceFromFile(file)));
}

/**
 * @param {HTMLElement} curtain   shown while a file is dragged over the page
 * @param {(file: File) => void} dropped
 */
function wireDrop(curtain, dropped) {
  const hasFile = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files") ?? false;
  addEventListener("dragover", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    curtain.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) curtain.hidden = true; // left the window, not just an element
  });
  addEventListener("drop", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    curtain.hidden = true;
    const file = event.dataTransfer?.files[0];
    if (file) dropped(file);
  });
}
