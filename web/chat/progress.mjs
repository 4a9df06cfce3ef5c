// @ts-check
// The loading panel: stage, bytes and per cent.

const STAGES = {
  python: "Starting Python",
  header: "Reading the model's header",
  download: "Loading",
  compile: "Preparing the GPU for",
};

/**
 * @param {number} bytes
 * @param {number} [unit]   the size that decides the unit, so that two numbers share it
 */
export function megabytes(bytes, unit = bytes) {
  return unit < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

/** @param {(id: string) => any} find */
export function createProgress(find) {
  let frame = 0;
  let shown = /** @type {import("./engine.mjs").EngineState["progress"]} */ (null);

  function draw() {
    frame = 0;
    find("progress").hidden = !shown;
    if (!shown) return;
    const { source, stage, loaded, total } = shown;
    const verb = Object.hasOwn(STAGES, stage) ? STAGES[/** @type {keyof typeof STAGES} */ (stage)] : STAGES.python;
    const bar = /** @type {HTMLProgressElement} */ (find("progress-bar"));
    find("progress-title").textContent = stage === "download" || stage === "compile" ? `${verb} ${source.name}` : verb;
    find("progress-figures").textContent = "";
    bar.removeAttribute("value"); // no figures: the bar only shows that something goes on
    if (stage !== "download" || total <= 0) return;
    bar.max = total;
    bar.value = loaded;
    const bytes = `${megabytes(loaded, total)} of ${megabytes(total)}`;
    find("progress-figures").textContent = `${bytes} · ${Math.floor((100 * loaded) / total)} %`;
  }

  /** @param {import("./engine.mjs").EngineState["progress"]} progress */
  return function show(progress) {
    shown = progress;
    frame ||= requestAnimationFrame(draw);
  };
}
