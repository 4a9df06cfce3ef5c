// @ts-check
// An error, in words for the person at the page. The error's own text stays available as technical detail.

const SHORT_DETAIL = 200; // characters: a detail up to here is shown at once

/**
 * @typedef {object} Problem
 * @property {string} title
 * @property {string} advice
 * @property {string} detail   the error's own text
 */

/** Advice by the error's name; the names are those of webxpu/errors.py. */
const KNOWN = {
  FormatError: {
    title: "This file isn't a model webxpu can read",
    advice:
      "It should be a complete GGUF file, version 2 or 3. It may be cut short, damaged or something else entirely.",
  },
  FetchError: {
    title: "The model could not be downloaded",
    advice: "Check the address and the connection. The server must allow other sites to read the file (CORS).",
  },
  Unsupported: {
    title: "This model needs something that isn't supported here",
    advice: "Try another model, or a recent browser with WebGPU.",
  },
  OutOfMemory: {
    title: "The model doesn't fit into this GPU's memory",
    advice: "Close other tabs and programs that use the GPU, or choose a smaller model.",
  },
  AbortError: { title: "Loading was cancelled", advice: "Load a model to go on." },
  StorageWarning: {
    title: "This browser could not keep the model",
    advice: "It works now, and will be downloaded again the next time.",
  },
  DeviceLost: {
    title: "The GPU stopped and took the model with it",
    advice: "The driver or the browser reset it. The conversation is safe: load the model again to go on.",
  },
  WorkerEnded: {
    title: "The part of this page that runs the model has stopped",
    advice: "It may have run out of memory. The conversation is safe: load the model again to go on.",
  },
  DeviceError: {
    title: "The GPU refused a step",
    advice: "Load the model again. If it stays so, update browser and driver.",
  },
  KernelError: { title: "The GPU refused a program", advice: "Update the browser and the graphics driver." },
  StartError: {
    title: "webxpu could not start",
    advice: "Reload the page. If it stays so, some of its files are missing.",
  },
  ContextOverflow: {
    title: "The conversation no longer fits into the model's context",
    advice: "Begin a new chat, or ask something shorter.",
  },
};
const OTHER = { title: "Something went wrong", advice: "Try again, or reload the page." };

/**
 * @param {unknown} error
 * @returns {Problem}
 */
export function describeProblem(error) {
  const name = error instanceof Error ? error.name : "";
  const known = Object.hasOwn(KNOWN, name) ? KNOWN[/** @type {keyof typeof KNOWN} */ (name)] : OTHER;
  const detail = error instanceof Error ? error.message : String(error);
  return { ...known, detail };
}

/**
 * The list of notices above the message box.
 * @param {HTMLElement} list
 * @param {HTMLTemplateElement} template
 * @param {HTMLElement} home   takes the focus from a notice that goes away
 */
export function createNotices(list, template, home) {
  /** @type {Map<string, Element>} */
  const shown = new Map();

  /** @param {string} topic */
  function clear(topic) {
    shown.get(topic)?.remove();
    shown.delete(topic);
  }

  /**
   * Shows a problem; a second one about the same topic takes the place of the first.
   * @param {string} topic
   * @param {Problem} problem
   * @param {{label: string, run: () => void}[]} [actions]
   * @param {{dismissible?: boolean}} [options]
   */
  function show(topic, problem, actions = [], { dismissible = true } = {}) {
    clear(topic);
    const notice = /** @type {Element} */ (document.importNode(template.content, true).firstElementChild);
    const part = (/** @type {string} */ name) =>
      /** @type {HTMLElement} */ (notice.querySelector(`[data-part=${name}]`));
    part("title").textContent = problem.title;
    part("advice").textContent = problem.advice;
    part("advice").hidden = !problem.advice;
    part("detail").textContent = problem.detail;
    part("more").hidden = !problem.detail;
    part("more").toggleAttribute("open", problem.detail.length < SHORT_DETAIL);
    part("dismiss").hidden = !dismissible;
    part("dismiss").addEventListener("click", () => {
      clear(topic);
      home.focus();
    });
    part("actions").hidden = actions.length === 0;
    for (const action of actions) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "button";
      button.textContent = action.label;
      button.addEventListener("click", () => {
        clear(topic);
        home.focus();
        action.run();
      });
      part("actions").append(button);
    }
    list.append(notice);
    shown.set(topic, notice);
  }

  return { show, clear };
}
