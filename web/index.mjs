// @ts-check
// The front page: says what GPU this browser offers. Opens no device and downloads nothing.

import { adapterStatus } from "./adapter.mjs";
import { wireThemeButton } from "./theme.mjs";

const find = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const FEATURES = { "shader-f16": "16-bit floats", subgroups: "subgroups", "timestamp-query": "timestamps" };

/** @param {number} bytes */
const size = (bytes) =>
  bytes >= 2 ** 30 ? `${+(bytes / 2 ** 30).toFixed(1)} GiB` : `${+(bytes / 2 ** 20).toFixed(0)} MiB`;

/**
 * @param {GPUAdapter} adapter
 * @returns {[string, string][]}
 */
function facts(adapter) {
  const has = Object.entries(FEATURES).filter(([name]) => adapter.features.has(/** @type {any} */ (name)));
  const info = /** @type {any} */ (adapter.info);
  const kind = info.isFallbackAdapter ? "software, on the CPU: right but slow" : "hardware";
  return [
    ["Kind", kind],
    ["Largest buffer", size(adapter.limits.maxBufferSize)],
    ["Largest binding", size(adapter.limits.maxStorageBufferBindingSize)],
    ["Workgroup memory", `${adapter.limits.maxComputeWorkgroupStorageSize / 1024} KiB`],
    [
      "Subgroup size",
      info.subgroupMinSize ? [...new Set([info.subgroupMinSize, info.subgroupMaxSize])].join(" to ") : "unknown",
    ],
    ["Extras", has.map(([, label]) => label).join(", ") || "none"],
  ];
}

async function begin() {
  wireThemeButton(find("theme"));
  const { ok, title, advice, adapter } = await adapterStatus();
  find("verdict-dot").dataset.state = ok ? "ready" : "lost";
  find("verdict-text").textContent = title;
  find("advice").textContent = advice;
  find("advice").hidden = !advice;
  if (!adapter) return;
  for (const [name, value] of facts(adapter)) {
    const row = document.createElement("div");
    const term = document.createElement("dt");
    const detail = document.createElement("dd");
    term.textContent = name;
    detail.textContent = value;
    row.append(term, detail);
    find("facts").append(row);
  }
  find("facts").hidden = false;
}

begin();
