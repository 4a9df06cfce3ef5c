// @ts-check
// Markdown of a reply, shown while it streams: `marked` parses, `DOMPurify` decides what may enter the page.

import { Marked } from "../vendor/marked.esm.js";
import DOMPurify from "../vendor/purify.es.mjs";

/** @typedef {import("marked").Token} Token */

// Raw HTML in a reply is shown as text, except these bare tags, which models write inside tables and formulas.
const PLAIN_TAG = /^<\/?(br|sub|sup|kbd|b|i|u|em|strong)\s*\/?>$/i;

// No image, form, style or script: a reply must not make a request, imitate the page or run.
export const SANITIZER = {
  ALLOWED_TAGS:
    "a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i kbd li ol p pre strong sub sup table tbody td th thead tr u ul".split(
      " ",
    ),
  ALLOWED_ATTR: ["href", "title", "start", "align", "data-language"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  ADD_URI_SAFE_ATTR: ["start", "align", "data-language"], // DOMPurify holds every other value against the line above
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

/** @param {string} text */
const escapeHtml = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => (PLAIN_TAG.test(text.trim()) ? text : escapeHtml(text)),
    code: ({ text, lang }) => {
      const language = (lang ?? "").split(/\s/)[0];
      return `<pre data-language="${escapeHtml(language)}"><code>${escapeHtml(text)}</code></pre>`;
    },
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    image: ({ href, text }) => `<a href="${escapeHtml(href)}">${escapeHtml(text || href)}</a>`,
  },
});

/**
 * @param {Token[]} tokens
 * @returns {DocumentFragment}
 */
function toFragment(tokens) {
  const fragment = DOMPurify.sanitize(marked.parser(tokens), SANITIZER);
  for (const link of fragment.querySelectorAll("a[href]")) {
    link.setAttribute("target", "_blank");
    link.setAttribute("rel", "noopener noreferrer nofollow");
  }
  for (const table of fragment.querySelectorAll("table")) {
    const frame = wrap(table, "table");
    frame.tabIndex = 0; // a wide table scrolls, also by keyboard
  }
  for (const pre of fragment.querySelectorAll("pre")) decorateCode(pre);
  return fragment;
}

/**
 * @param {Element} element
 * @param {string} className
 */
function wrap(element, className) {
  const frame = document.createElement("div");
  frame.className = className;
  element.replaceWith(frame);
  frame.append(element);
  return frame;
}

/** @param {HTMLElement} pre */
function decorateCode(pre) {
  const frame = wrap(pre, "code");
  const head = document.createElement("div");
  head.className = "code-head";
  const language = document.createElement("span");
  language.textContent = pre.dataset.language || "text";
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "small-button";
  copy.dataset.copy = "code";
  copy.textContent = "Copy";
  copy.setAttribute("aria-label", "Copy code");
  head.append(language, copy);
  frame.prepend(head);
  pre.tabIndex = 0;
}

/**
 * A reply that grows. Blocks that can't change any more are parsed once; of the open end only what differs is replaced.
 */
export class MarkdownView {
  #root;
  #marker = document.createComment("open end");
  #tail = ""; // source of the open end
  #source = "";

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
    root.replaceChildren(this.#marker);
  }

  /** The whole Markdown so far. */
  get source() {
    return this.#source;
  }

  /** @param {string} text */
  append(text) {
    const lines = text.replace(/\r/g, ""); // a carriage return and its line feed may come in two pieces
    this.#source += lines;
    this.#tail += lines;
  }

  /** Draws what was appended; call it at most once an animation frame. */
  render() {
    const tokens = marked.lexer(this.#tail);
    const open = openFrom(tokens);
    const settled = [...toFragment(tokens.slice(0, open)).childNodes];
    const fresh = [...settled, ...toFragment(tokens.slice(open)).childNodes];
    const drawn = graft(this.#root, after(this.#marker), fresh);
    if (settled.length === 0) return;
    drawn[settled.length - 1].after(this.#marker);
    this.#tail = this.#tail.slice(sourceOf(tokens.slice(0, open)).length);
  }

  /** Draws all of it; the reply is complete. */
  finish() {
    // A link's definition may come after its use, in a block that was drawn already.
    if (/^ {0,3}\[[^\]]+\]:/m.test(this.#source)) {
      this.#root.replaceChildren(this.#marker);
      this.#tail = this.#source;
    }
    this.render();
  }
}

/**
 * Makes the last children of a node, `old`, equal to `fresh`. What is equal already stays, so that it keeps its layout
 * and a reader's selection; text only grows.
 * @param {Node} parent
 * @param {ChildNode[]} old
 * @param {ChildNode[]} fresh
 * @returns {ChildNode[]} the nodes that now stand for `fresh`
 */
function graft(parent, old, fresh) {
  const both = Math.min(old.length, fresh.length);
  let kept = 0;
  while (kept < both && old[kept].isEqualNode(fresh[kept])) kept += 1;
  if (kept < both && mend(old[kept], fresh[kept])) kept += 1;
  for (const node of old.slice(kept)) node.remove();
  for (const node of fresh.slice(kept)) parent.appendChild(node);
  return [...old.slice(0, kept), ...fresh.slice(kept)];
}

/**
 * @param {ChildNode} old
 * @param {ChildNode} fresh
 * @returns {boolean} whether `old` could be made equal to `fresh`
 */
function mend(old, fresh) {
  if (old instanceof Text && fresh instanceof Text) {
    if (fresh.data.startsWith(old.data)) old.appendData(fresh.data.slice(old.data.length));
    else old.data = fresh.data;
    return true;
  }
  if (!(old instanceof Element) || !old.cloneNode(false).isEqualNode(fresh.cloneNode(false))) return false;
  graft(old, [...old.childNodes], [...fresh.childNodes]);
  return true;
}

/**
 * @param {ChildNode} node
 * @returns {ChildNode[]} its later siblings
 */
function after(node) {
  const nodes = [];
  for (let next = node.nextSibling; next; next = next.nextSibling) nodes.push(next);
  return nodes;
}

/** @param {Token[]} tokens */
const sourceOf = (tokens) => tokens.map((token) => token.raw).join("");

/**
 * Where the part begins that more text can still change: the last two blocks ("2" after a list may become "2. next",
 * which belongs to the list before it).
 * @param {Token[]} tokens
 */
function openFrom(tokens) {
  let index = tokens.length;
  for (let blocks = 0; index > 0 && blocks < 2;) {
    index -= 1;
    if (tokens[index].type !== "space") blocks += 1;
  }
  return index;
}
