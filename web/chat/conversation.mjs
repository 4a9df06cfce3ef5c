// @ts-check
// The messages of this tab: sending, streaming, stopping, asking again, and what a reload brings back.

import { recall, remember } from "../store.mjs";

const KEY = "webxpu.chat.conversation";
const ANNOUNCED_CHARACTERS = 600;

/**
 * @typedef {object} Message
 * @property {"user" | "assistant"} role
 * @property {string} content
 * @property {string} [meta]    shown under a reply; not sent
 */

/**
 * @typedef {object} Hooks
 * @property {() => Promise<any>} ready                          a client with a model
 * @property {() => {system: string, [option: string]: any}} settings
 * @property {(busy: boolean) => void} onBusy
 * @property {(turns: number) => void} onCount
 * @property {(speed: string) => void} onSpeed
 * @property {(error: unknown) => void} onError
 * @property {(text: string) => void} giveBack                   a message that got no answer
 * @property {(text: string) => void} announce
 */

/**
 * @param {ReturnType<typeof import("./thread.mjs").createThread>} thread
 * @param {Hooks} hooks
 */
export function createConversation(thread, hooks) {
  /** @type {Message[]} */
  let messages = [];
  /** @type {{remove: () => void}[]} one view a message */
  let views = [];
  /** @type {{stopped: boolean, client: any, view: import("./thread.mjs").ReplyView, meter: Meter} | null} */
  let run = null;

  const save = () => {
    const partial = run?.view.source() ? [{ role: "assistant", content: run.view.source(), meta: "Interrupted" }] : [];
    remember("session", KEY, [...messages, ...partial]);
  };

  /** @param {string} content */
  function addUser(content) {
    messages.push({ role: "user", content });
    views.push(thread.addUser(content));
    hooks.onCount(messages.length);
  }

  function dropLast() {
    views.pop()?.remove();
    const message = messages.pop();
    hooks.onCount(messages.length);
    return message;
  }

  /** @param {string} text */
  function send(text) {
    if (run) return;
    addUser(text);
    reply();
  }

  async function reply() {
    const view = thread.addReply();
    const mine = (run = { stopped: false, client: null, view, meter: new Meter() });
    hooks.onBusy(true);
    view.wait("Waiting for the model");
    save();
    /** @type {unknown} */
    let failure = null;
    let reason = "";
    try {
      mine.client = await hooks.ready();
      if (!mine.stopped) reason = await stream(mine);
    } catch (error) {
      failure = error;
    }
    if (run === mine) return end(mine, reason, failure);
    if (failure && !mine.client) hooks.onError(failure); // nobody waits for the model any more, but it should be told
  }

  /** @param {NonNullable<typeof run>} mine */
  async function stream(mine) {
    const { system, ...options } = hooks.settings();
    const sent = messages.map(({ role, content }) => ({ role, content }));
    if (system.trim()) sent.unshift(/** @type {any} */ ({ role: "system", content: system }));
    mine.view.wait("Reading the conversation");
    const pieces = mine.client.chat(sent, options);
    for await (const piece of pieces) {
      if (run !== mine) break;
      mine.meter.count(piece.tokens);
      mine.view.append(piece.text);
      hooks.onSpeed(mine.meter.speed());
    }
    mine.meter.settle(pieces.result?.decode_tokens_per_s);
    hooks.onSpeed(mine.meter.speed());
    return mine.stopped ? "abort" : (pieces.finishReason ?? "");
  }

  /**
   * @param {NonNullable<typeof run>} mine
   * @param {string} reason
   * @param {unknown} failure
   */
  function end(mine, reason, failure) {
    run = null;
    const { view } = mine;
    const content = view.source();
    if (content || (!mine.stopped && !failure)) {
      const meta = describeEnd(failure ? "error" : reason, mine.meter);
      view.finish(meta);
      messages.push({ role: "assistant", content, meta });
      views.push(view);
      hooks.announce(`Reply: ${content.slice(0, ANNOUNCED_CHARACTERS)}`);
    } else {
      view.remove(); // it never began: as if it had not been asked
      hooks.giveBack(dropLast()?.content ?? "");
    }
    hooks.onBusy(false);
    save();
    if (failure) hooks.onError(failure);
  }

  function stop() {
    if (!run) return;
    run.stopped = true;
    if (run.client) run.client.abort();
    else end(run, "abort", null); // the model goes on loading
  }

  function again() {
    if (run || messages.at(-1)?.role !== "assistant") return;
    dropLast();
    reply();
  }

  function clear() {
    const left = run;
    run = null;
    left?.client?.abort();
    messages = [];
    views = [];
    thread.clear();
    hooks.onBusy(false);
    hooks.onCount(0);
    hooks.onSpeed("");
    remember("session", KEY, null);
  }

  function restore() {
    for (const message of recall("session", KEY) ?? []) {
      if (message.role === "user") {
        addUser(message.content);
        continue;
      }
      const view = thread.addReply();
      view.append(message.content);
      view.finish(message.meta ?? "");
      messages.push(message);
      views.push(view);
    }
    if (messages.at(-1)?.role === "user") hooks.giveBack(dropLast()?.content ?? "");
    hooks.onCount(messages.length);
  }

  addEventListener("pagehide", save);
  return { send, stop, again, clear, restore, busy: () => run !== null };
}

/** Counts tokens against the clock; the first piece only starts it, since its time is the prompt's. */
class Meter {
  tokens = 0;
  #first = 0;
  #firstMs = 0;
  #lastMs = 0;
  #settled = 0;

  /** @param {number} tokens */
  count(tokens) {
    this.tokens += tokens;
    this.#lastMs = performance.now();
    if (this.#firstMs) return;
    this.#firstMs = this.#lastMs;
    this.#first = tokens;
  }

  /** The engine's own figure, once there is one. @param {number | null | undefined} rate in tokens a second */
  settle(rate) {
    this.#settled = rate ?? 0;
  }

  speed() {
    const seconds = (this.#lastMs - this.#firstMs) / 1000;
    const rate = this.#settled || (seconds > 0 ? (this.tokens - this.#first) / seconds : 0);
    return rate > 0 ? `${rate < 100 ? rate.toFixed(1) : Math.round(rate)} tokens/s` : "";
  }
}

/**
 * @param {string} reason    stop, length, abort, context or error
 * @param {Meter} meter
 */
function describeEnd(reason, meter) {
  const why = {
    abort: "Stopped",
    length: "Reached the longest reply",
    context: "The model's context is full",
    error: "Broke off",
  }[reason];
  if (meter.tokens === 0) return "The model ended its reply at once";
  const tokens = `${meter.tokens} ${meter.tokens === 1 ? "token" : "tokens"}`;
  return [why, tokens, meter.speed()].filter(Boolean).join(" · ");
}
