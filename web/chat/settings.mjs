// @ts-check
// The settings sheet: how a reply is made. Kept in the browser; the form is the only place with limits.

import { recall, remember } from "../store.mjs";

const KEY = "webxpu.chat.settings";

/**
 * @typedef {object} Settings
 * @property {string} system            empty: the model's own
 * @property {number} temperature       0: greedy
 * @property {number} top_p
 * @property {number} max_tokens
 * @property {number | null} seed       null: another one for each reply
 */

/** @type {Settings} */
const DEFAULTS = { system: "", temperature: 0, top_p: 1, max_tokens: 512, seed: null };

/**
 * @param {HTMLFormElement} form
 * @returns {{current: () => Settings}}
 */
export function createSettings(form) {
  const field = (/** @type {string} */ name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name));
  const outputs = { temperature: form.querySelector("#temperature-value"), top_p: form.querySelector("#top_p-value") };
  /** @type {Settings} */
  let settings = { ...DEFAULTS, ...recall("local", KEY) };

  function show() {
    for (const [name, value] of Object.entries(settings)) field(name).value = value === null ? "" : String(value);
    showValues();
  }

  function showValues() {
    for (const [name, output] of Object.entries(outputs)) {
      if (output) output.textContent = Number(field(name).value).toFixed(2);
    }
  }

  form.addEventListener("input", (event) => {
    showValues();
    const input = /** @type {HTMLInputElement} */ (event.target);
    if (!input.checkValidity()) return; // the last good value stays in force, the field shows that it is wrong
    settings = { ...settings, [input.name]: read(input) };
    remember("local", KEY, settings);
  });
  form.addEventListener("change", (event) => {
    /** @type {HTMLInputElement} */ (event.target).reportValidity();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector("#reset-settings")?.addEventListener("click", () => {
    settings = { ...DEFAULTS };
    remember("local", KEY, null);
    show();
  });

  show();
  return { current: () => settings };
}

/** @param {HTMLInputElement} input */
function read(input) {
  if (input.name === "system") return input.value;
  if (input.name === "seed" && input.value === "") return null;
  return input.valueAsNumber;
}
