"""A page that runs Python: Pyodide and the wheel from the site, the bridge registered as `bridge/worker.mjs` does."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page

START = """async (site) => {
  const { loadPyodide } = await import(`${site}/pyodide/pyodide.mjs`);
  const { boot } = await import(`${site}/bridge/webxpu.mjs`);
  const tokenizers = await import(`${site}/vendor/tokenizers.mjs`);
  const pyodide = (globalThis.pyodide = await loadPyodide({ indexURL: `${site}/pyodide/` }));
  globalThis.bridge = await boot((name) => import(`${site}/bridge/${name}`), { tokenizers });
  pyodide.registerJsModule("webxpu_bridge", globalThis.bridge);
  await pyodide.loadPackage(["webxpu"], { messageCallback: () => {} });
}"""
RUN = """async ([code, given]) => {
  const scope = globalThis.pyodide.toPy({});
  scope.set("given_json", given);
  try {
    return await globalThis.pyodide.runPythonAsync(code, { globals: scope });
  } finally {
    scope.destroy();
  }
}"""
BODY = """
import json
import numpy as np
import webxpu
import __main__
from webxpu import bridge, ops

kept = __main__.__dict__.setdefault("kept", {})  # outlives the call

async def body(given):
{body}

json.dumps(await body(json.loads(given_json)))
"""


class PythonPage:
    """`run(body, **given)` runs the body of an async Python function; what it returns comes back by way of JSON."""

    def __init__(self, page: Page, site: str) -> None:
        self.page = page
        self.site = site
        self.start()

    def start(self) -> None:
        """Opens the page and Python in it, also in place of what was there."""
        self.page.goto(f"{self.site}/run/")
        self.page.evaluate(START, self.site)

    def run(self, body: str, **given: Any) -> Any:
        indented = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
        code = BODY.replace("{body}", indented)
        return json.loads(self.page.evaluate(RUN, [code, json.dumps(given)]))

    def heap_bytes(self) -> int:
        """How large Python's memory is; it never shrinks."""
        return int(self.page.evaluate("() => globalThis.pyodide._module.HEAPU8.byteLength"))
