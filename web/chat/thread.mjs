// @ts-check
// The conversation as it stands in the page: turns, the growing reply, and the scroll position that follows it.

import { MarkdownView } from "./markdown.mjs";

const NEAR_END_PX = 48;
const COPIED_MS = 1600;
// Drawing that would cost frames is followed by a pause, so that few frames are late however long a reply gets.
const CHEAP_DRAW_MS = 6;
const PAUSE_FACTOR = 10;
const LONGEST_PAUSE_MS = 400;

/**
 * @typedef {object} ReplyView
 * @property {(text: string) => void} append        drawn in the next animation frame
 * @property {(text: string) => void} wait          what the reply waits for
 * @property {(meta: string) => void} finish        draws the rest and shows the foot
 * @property {() => string} source
 * @property {() => void} remove
 */

/**
 * @param {{scroller: HTMLElement, list: HTMLElement, template: HTMLTemplateElement, latest: HTMLElement}} parts
 * @param {{onAgain: () => void, announce: (text: string) => void}} hooks
 */
export function createThread({ scroller, list, template, latest }, { onAgain, announce }) {
  let follows = true; // the end stays in view until the person scrolls up
  let lastTop = 0;

  scroller.addEventListener(
    "scroll",
    () => {
      const left = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
      if (left < NEAR_END_PX) follows = true;
      else if (scroller.scrollTop < lastTop) follows = false;
      lastTop = scroller.scrollTop;
      latest.hidden = left < scroller.clientHeight / 2;
    },
    { passive: true },
  );
  // A notice or a growing message box takes room from below: the end must not slip behind it.
  new ResizeObserver(() => {
    if (follows && list.childElementCount > 0) scrollToEnd();
  }).observe(scroller);
  latest.addEventListener("click", () => {
    follows = true;
    scrollToEnd();
    scroller.focus({ preventScroll: true });
  });
  list.addEventListener("click", (event) => {
    const button = /** @type {Element} */ (event.target).closest("button");
    if (button?.dataset.copy === "code") {
      copyText(button.closest(".code")?.querySelector("pre")?.textContent ?? "", button, announce);
    }
  });

  function scrollToEnd() {
    scroller.scrollTop = scroller.scrollHeight;
  }

  /** @param {string} text */
  function addUser(text) {
    const turn = document.createElement("li");
    turn.className = "turn user";
    const who = document.createElement("span");
    who.className = "visually-hidden";
    who.textContent = "You:";
    const bubble = document.createElement("div");
    bubble.className = "text";
    bubble.textContent = text;
    turn.append(who, bubble);
    list.append(turn);
    follows = true;
    scrollToEnd();
    return { remove: () => turn.remove() };
  }

  /** @returns {ReplyView} */
  function addReply() {
    const turn = /** @type {HTMLElement} */ (document.importNode(template.content, true).firstElementChild);
    const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (turn.querySelector(`[data-part=${name}]`));
    const prose = part("prose");
    const view = new MarkdownView(prose);
    let frame = 0;
    let notBefore = 0;
    const draw = (/** @type {number} */ now) => {
      if (now < notBefore) {
        frame = requestAnimationFrame(draw);
        return;
      }
      frame = 0;
      const start = performance.now();
      view.render();
      if (follows) scrollToEnd(); // lays the page out, as the frame would
      const cost = performance.now() - start;
      notBefore = cost > CHEAP_DRAW_MS ? now + Math.min(cost * PAUSE_FACTOR, LONGEST_PAUSE_MS) : 0;
    };
    prose.classList.add("streaming");
    part("copy").addEventListener("click", (event) => {
      copyText(view.source, /** @type {HTMLElement} */ (event.currentTarget), announce);
    });
    part("again").addEventListener("click", onAgain);
    list.append(turn);
    if (follows) scrollToEnd();
    return {
      append(text) {
        part("waiting").hidden = true;
        view.append(text);
        frame ||= requestAnimationFrame(draw);
      },
      wait(text) {
        part("waiting").textContent = text;
      },
      finish(meta) {
        cancelAnimationFrame(frame);
        view.finish();
        prose.classList.remove("streaming");
        part("waiting").hidden = true;
        part("meta").textContent = meta;
        part("foot").hidden = false;
        if (follows) scrollToEnd();
      },
      source: () => view.source,
      remove: () => {
        cancelAnimationFrame(frame);
        turn.remove();
      },
    };
  }

  function clear() {
    list.replaceChildren();
    scroller.scrollTop = 0;
    follows = true;
    latest.hidden = true;
  }

  return { addUser, addReply, clear };
}

/**
 * @param {string} text
 * @param {HTMLElement} button
 * @param {(text: string) => void} announce
 */
async function copyText(text, button, announce) {
  const label = button.querySelector("span") ?? button;
  try {
    await navigator.clipboard.writeText(text);
    label.textContent = "Copied";
    announce("Copied");
  } catch {
    label.textContent = "Copy failed"; // the browser asks for permission and got a no
    announce("The browser did not allow copying");
  }
  setTimeout(() => (label.textContent = "Copy"), COPIED_MS);
}
