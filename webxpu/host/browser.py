"""Finds a Chrome or Chromium on this machine and starts it with WebGPU.

`CHROME` names the program and `CHROME_FLAGS` all its flags. An adapter that is asked for by name wins over the adapter
flags among them. Playwright drives the browser and downloads none.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webxpu.errors import Unsupported

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

ADAPTERS = ("swiftshader", "vulkan", "default")
PROGRAMS = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "chrome", "microsoft-edge")
APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
# A headless run that calls nobody, with WebGPU on where the platform still hides it, and timestamps inside passes.
BASE_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-webgpu",
    "--enable-webgpu-developer-features",
)
ADAPTER_FLAGS = {
    # Without the code that clears workgroup memory SwiftShader compiles twice as fast; no kernel of ours reads such
    # memory before it has written it.
    "swiftshader": ("--use-webgpu-adapter=swiftshader", "--enable-dawn-features=disable_workgroup_init"),
    "vulkan": (
        "--ignore-gpu-blocklist",
        "--use-angle=vulkan",
        "--disable-vulkan-surface",
        "--enable-features=Vulkan,VulkanFromANGLE,DefaultANGLEVulkan",
    ),
    "default": (),
}
_ADAPTER_SWITCHES = {
    "--use-webgpu-adapter",
    "--use-vulkan",
    "--use-angle",
    "--use-gl",
    "--disable-vulkan-surface",
    "--ignore-gpu-blocklist",
    "--enable-unsafe-swiftshader",
    "--disable-gpu",
}
_LISTS = ("--enable-dawn-features", "--enable-features")
_ADAPTER_FEATURES = {"Vulkan", "VulkanFromANGLE", "DefaultANGLEVulkan"}
# Playwright's own habits that would hide what the machine really has: it lets Chromium fall back to SwiftShader.
_WITHOUT_PLAYWRIGHTS = ["--enable-unsafe-swiftshader"]


class NoBrowser(Unsupported):
    """No Chrome or Chromium was found, or the one named cannot be started."""


def find_chrome() -> Path:
    """The browser's program. Raises NoBrowser with what to do where there is none."""
    named = os.environ.get("CHROME")
    if named:
        found = shutil.which(named)
        if found is None:
            raise NoBrowser(f"CHROME names {named!r}, which is no program on this machine")
        return Path(found)
    for candidate in (*PROGRAMS, *APPLICATIONS):
        found = shutil.which(candidate)
        if found is not None:
            return Path(found)
    raise NoBrowser(
        f"no Chrome or Chromium was found (looked for {', '.join(PROGRAMS)}). "
        "Install one (on Debian: apt-get install chromium) or name one by the environment variable CHROME."
    )


def flags(adapter: str | None = None) -> list[str]:
    """The browser's flags: those of `CHROME_FLAGS` where set, else the base flags and SwiftShader; see `ADAPTERS`."""
    if adapter is not None and adapter not in ADAPTERS:
        raise ValueError(f"adapter must be one of {ADAPTERS}, got {adapter!r}")
    given = given_flags()
    if not given:
        return _merged([*BASE_FLAGS, *ADAPTER_FLAGS[adapter or "swiftshader"]])
    if adapter is None:
        return _merged(given)
    return _merged([*without_adapter(given), *ADAPTER_FLAGS[adapter]])


def given_flags() -> list[str]:
    """The flags of `CHROME_FLAGS`; none where it is not set."""
    return shlex.split(os.environ.get("CHROME_FLAGS", ""))


def without_adapter(given: list[str]) -> list[str]:
    """The flags less those that choose an adapter; of `--enable-features` only the Vulkan features go."""
    kept = []
    for flag in given:
        switch, _, value = flag.partition("=")
        if switch == "--enable-features":
            names = [name for name in value.split(",") if name not in _ADAPTER_FEATURES]
            if names:
                kept.append(f"{switch}={','.join(names)}")
        elif switch not in _ADAPTER_SWITCHES:
            kept.append(flag)
    return kept


def _merged(given: list[str]) -> list[str]:
    """The flags with all features of one switch in one flag, at the end, because Chromium obeys only the last."""
    rest = [flag for flag in given if flag.partition("=")[0] not in _LISTS]
    for switch in _LISTS:
        flags = [flag.partition("=")[2] for flag in given if flag.startswith(f"{switch}=")]
        if flags:
            rest.append(f"{switch}={','.join(dict.fromkeys(','.join(flags).split(',')))}")
    return rest


def launch_options(adapter: str | None = None) -> dict[str, Any]:
    """What `playwright.chromium.launch` is called with, in its sync and its async form alike."""
    return {
        "executable_path": str(find_chrome()),
        "args": flags(adapter),
        "headless": True,
        "ignore_default_args": _WITHOUT_PLAYWRIGHTS,
    }


def launch(playwright: Playwright, adapter: str | None = None) -> Browser:
    """Starts the browser. `adapter` None takes `CHROME_FLAGS`, or SwiftShader where that is not set."""
    from playwright.sync_api import Error

    options = launch_options(adapter)
    try:
        return playwright.chromium.launch(**options)
    except Error as error:
        raise NoBrowser(start_failed(error)) from error


def start_failed(error: Exception) -> str:
    """A clear text for a browser that was found and would not start."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = next((line for line in lines if "ERROR" in line or "error while loading" in line), lines[0] if lines else "")
    return f"{find_chrome()} could not be started: {told}"


def _main() -> int:
    """`python -m webxpu.host.browser` prints the browser's path, for the Makefile."""
    try:
        print(find_chrome())
    except NoBrowser as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
