"""Opens our small page `web/run/` in a headless browser, over a server of its own, for the commands that need a GPU."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webxpu.gpu.description import adapter_name
from webxpu.host.assets import DEFAULT_MODEL, read_lock
from webxpu.host.browser import NoBrowser, flags, given_flags, launch_options, start_failed
from webxpu.host.exits import BadModel, NoAdapter
from webxpu.host.serve import Server, serving

if TYPE_CHECKING:
    from playwright.async_api import Page


@dataclass(frozen=True)
class OpenPage:
    """The page, the server it came from, and what the browser said of itself: version, WebGPU or not, adapter."""

    page: Page
    server: Server
    browser: str
    probe: Mapping[str, Any]


def chosen_adapter(option: str | None) -> str | None:
    """What `--adapter` means: without it `CHROME_FLAGS` decide, and without those the browser's own default."""
    return option if option is not None or given_flags() else "default"


def check_adapter(probe: Mapping[str, Any], adapter: str | None) -> None:
    """Raises NoAdapter unless the page found an adapter of the kind that was asked for."""
    asked = f"--adapter {adapter}" if adapter else "CHROME_FLAGS"
    if not probe["webgpu"]:
        raise NoAdapter("this browser has no WebGPU (navigator.gpu is missing); a newer Chrome or Chromium has it")
    info = probe["adapter"]
    if info is None:
        raise NoAdapter(
            f"the browser finds no WebGPU adapter with {asked}; `webxpu doctor` shows what there is, "
            "and --adapter swiftshader computes on the CPU"
        )
    if info["isFallbackAdapter"] and not any("swiftshader" in flag for flag in flags(adapter)):
        raise NoAdapter(
            f"the browser finds no GPU with {asked}, only {adapter_name(info)}, which computes on the CPU; "
            "ask for it by --adapter swiftshader, or try --adapter vulkan"
        )


def check_model(model: str | None) -> None:
    """Raises BadModel where `--model` names a file or folder that is not there."""
    if model is not None and not _is_address(model) and not Path(model).exists():
        raise BadModel(f"no file or folder {model}")


def model_url(opened: OpenPage, model: str | None) -> str:
    """Where the page finds the model that `--model` names: an address, a file or folder of this machine, which is
    served from here on, or without one the default model of the site."""
    if model is None:
        return f"{opened.server.url}/models/{read_lock()[DEFAULT_MODEL].file}"
    if _is_address(model):
        return model
    return served(opened.server, Path(model))


def served(server: Server, path: Path) -> str:
    """Serves a file or a folder from anywhere; its address, a folder's with a "/" at the end."""
    if not path.is_dir():
        return server.share(path)
    token = secrets.token_urlsafe(16)
    server.mounts[token] = path.resolve()
    return f"{server.url}/{token}/"


def _is_address(model: str) -> bool:
    return re.match(r"https?://", model) is not None


@asynccontextmanager
async def open_page(site: Path, adapter: str | None) -> AsyncIterator[OpenPage]:
    """Serves the site, starts the browser, opens `/run/`; all of it ends with the block. Raises NoBrowser."""
    from playwright.async_api import Error, async_playwright

    options = launch_options(adapter)
    with serving(site) as server:
        async with async_playwright() as playwright:
            try:
                # A Ctrl-C is for us: it stops the reply, not the browser.
                browser = await playwright.chromium.launch(**options, handle_sigint=False)
            except Error as error:
                raise NoBrowser(start_failed(error)) from error
            try:
                page = await browser.new_page()
                await page.goto(f"{server.url}/run/")
                probe = await page.evaluate("webxpuProbe()")
                yield OpenPage(page, server, browser.version, probe)
            finally:
                await browser.close()
