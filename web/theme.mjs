// @ts-check
// Colour scheme: the system's, unless the person chose one. Loaded render-blocking, so that no page flashes.

import { recall, remember } from "./store.mjs";

const KEY = "webxpu.theme";
const NEXT = { system: "light", light: "dark", dark: "system" };
const LABEL = { system: "Colours follow the system", light: "Light colours", dark: "Dark colours" };

/** @typedef {"system" | "light" | "dark"} Theme */

/** @returns {Theme} */
function stored() {
  const value = recall("local", KEY);
  return value === "light" || value === "dark" ? value : "system";
}

/** @param {Theme} theme */
function apply(theme) {
  document.documentElement.dataset.theme = theme;
}

/**
 * Makes a button step through system, light and dark.
 * @param {HTMLButtonElement} button
 */
export function wireThemeButton(button) {
  const describe = () => {
    const text = `${LABEL[stored()]}. Switch to ${NEXT[stored()]}`;
    button.setAttribute("aria-label", text);
    button.title = text;
  };
  describe();
  button.addEventListener("click", () => {
    const theme = /** @type {Theme} */ (NEXT[stored()]);
    remember("local", KEY, theme);
    apply(theme);
    describe();
  });
}

apply(stored());
