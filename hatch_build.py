"""Build hook: the wheel carries the JavaScript tokenizer and its licence, taken from the asset cache."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VENDORED = ("tokenizers.mjs", "tokenizers.LICENSE")


class VendorHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        try:
            from webxpu.host.fetch import fetch
        finally:
            sys.path.remove(self.root)
        for name, path in fetch(VENDORED).items():
            build_data["force_include"][str(path)] = f"webxpu/_data/vendor/{Path(name).name}"
