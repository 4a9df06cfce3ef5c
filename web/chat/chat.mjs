// @ts-check
// The chat page: wires the markup to the model. No engine code is here; that runs in the client's worker.

import { adapterName, adapterStatus } from "../adapter.mjs";
import { recall, remember } from "../store.mjs";
import { wireThemeButton } from "../theme.mjs";
import { createComposer } from "./composer.mjs";
import { createConversation } from "./conversation.mjs";
import { createEngine } from "./engine.mjs";
import { SERVED, wireModelPicker } from "./models.mjs";
import { createNotices, describeProblem } from "./problems.mjs";
import { createProgress } from "./progress.mjs";
import { createSettings } from "./settings.mjs";
import { wireStored } from "./stored.mjs";
import { createThread } from "./thread.mjs";

const MODEL = "webxpu.chat.model"; // the address this tab loaded last: a reload loads it again
const STARTERS = [
  "What is the capital of Japan?",
  "Explain to a ten-year-old what a GPU does.",
  "Write a Python function that reverses a string.",
];

const find = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const announce = (/** @type {string} */ text) => (find("announce").textContent = text);

/** @type {import("./models.mjs").ModelSource} */
let asked = SERVED.source; // the model that was asked for last, whether it came or not

const notices = createNotices(find("notices"), find("notice-template"), find("prompt"));
const showProgress = createProgress(find);
const settings = createSettings(find("settings-form"));

const engine = createEngine({
  start: async () => {
    try {
      const { start } = await import("../bridge/client.mjs");
      return await start({ base: new URL("..", location.href).href });
    } catch (error) {
      if (error instanceof Error && error.name !== "Error" && error.name !== "TypeError") throw error;
      throw Object.assign(new Error(String(error), { cause: error }), { name: "StartError" });
    }
  },
  onChange: showEngine,
  onLost: (error) => {
    const reload = { label: "Reload model", run: () => load(engine.state.source ?? asked) };
    notices.show("model", describeProblem(error), [reload], { dismissible: false });
  },
  onWarning: (message) => {
    notices.show("storage", describeProblem(Object.assign(new Error(message), { name: "StorageWarning" })));
  },
});

const thread = createThread(
  { scroller: find("scroller"), list: find("thread"), template: find("reply-template"), latest: find("latest") },
  { onAgain: () => conversation.again(), announce },
);

const conversation = createConversation(thread, {
  ready: async () => {
    if (engine.state.phase !== "ready") await bring(engine.state.source ?? remembered() ?? SERVED.source);
    return engine.ready();
  },
  settings: settings.current,
  onBusy: (busy) => composer.setBusy(busy),
  onCount: (turns) => {
    find("welcome").hidden = turns > 0;
    find("thread").hidden = turns === 0;
  },
  onSpeed: (speed) => (find("speed").textContent = speed),
  onError: (error) => {
    if (!engine.takesModel(error)) notices.show("reply", describeProblem(error));
  },
  giveBack: (text) => composer.giveBack(text),
  announce,
});

const composer = createComposer(find, {
  send: (text) => {
    notices.clear("reply");
    conversation.send(text);
  },
  stop: () => conversation.stop(),
});

/** @returns {import("./models.mjs").ModelSource | null} */
function remembered() {
  return recall("session", MODEL);
}

/** @param {import("./models.mjs").ModelSource} source */
async function bring(source) {
  asked = source;
  await engine.load(source);
  notices.clear("model");
  remember("session", MODEL, source.url ? source : null);
  announce(`${source.name} is ready`);
}

/** @param {import("./models.mjs").ModelSource} source */
async function load(source) {
  if (engine.state.phase === "loading") {
    const title = "Another model is still loading";
    notices.show("model", { title, advice: "Choose again once it is done.", detail: "" });
    return;
  }
  conversation.stop();
  notices.clear("model");
  notices.clear("storage");
  try {
    await bring(source);
    composer.focus();
  } catch (error) {
    if (engine.takesModel(error)) return;
    if (/** @type {Error} */ (error).name === "AbortError") return void announce("Loading was cancelled");
    const problem = describeProblem(error);
    const { phase, source: before } = engine.state;
    if (phase === "ready" && before) problem.advice += ` ${before.name} is still loaded and answers.`;
    notices.show("model", problem);
  }
}

/** @param {import("./engine.mjs").EngineState} state */
function showEngine({ phase, source, info, progress }) {
  const named = progress?.source ?? source;
  find("model-dot").dataset.state = phase;
  find("model-name").textContent = named?.name ?? "Choose a model";
  find("load-default").disabled = phase === "loading";
  find("model-card").hidden = phase === "ready";
  if (info?.adapter) find("adapter").textContent = adapterName(info.adapter);
  showProgress(progress);
}

function wireDialogs() {
  find("settings-button").addEventListener("click", () => find("settings").showModal());
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => {
      const target = /** @type {Element} */ (event.target);
      if (target === dialog || target.closest("[data-close]")) dialog.close(); // the backdrop is the dialog itself
    });
  }
}

function showStarters() {
  for (const text of STARTERS) {
    const item = find("starter-template").content.cloneNode(true).firstElementChild;
    item.querySelector("span").textContent = text;
    item.querySelector("button").addEventListener("click", () => {
      composer.focus();
      conversation.send(text);
    });
    find("starters").append(item);
  }
}

async function begin() {
  wireThemeButton(find("theme"));
  wireModelPicker(find, load);
  wireStored(find, { client: engine.client, loaded: () => engine.state.info?.model, announce });
  find("cancel-load").addEventListener("click", () => {
    engine.cancel();
    composer.focus();
  });
  wireDialogs();
  showStarters();
  find("new-chat").addEventListener("click", () => {
    conversation.clear();
    composer.focus();
  });
  conversation.restore();
  const status = await adapterStatus();
  find("adapter").textContent = status.title;
  if (!status.ok) {
    const problem = { title: status.title, advice: status.advice, detail: "" };
    notices.show("webgpu", problem, [], { dismissible: false });
    composer.setUsable(false);
    for (const button of document.querySelectorAll("#starters button, #load-default, #other-model, #model-button")) {
      /** @type {HTMLButtonElement} */ (button).disabled = true;
    }
    return;
  }
  composer.focus();
  const source = remembered();
  if (source) load(source);
}

begin();
