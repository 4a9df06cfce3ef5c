"""`webxpu chat` and `webxpu serve`: the pages on localhost."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from contextlib import ExitStack

from webxpu.host import exits
from webxpu.host.progress import download_bars
from webxpu.host.serve import serving
from webxpu.host.site import build_site

# The same port each time, because a page's settings and stored files belong to its address.
PORT = 8642


def serve_pages(path: str, *, port: int | None, open_page: bool) -> int:
    """Serves the site until Ctrl-C; prints the address of the page `path`, and opens it where there is a desktop.

    Without a wish for a port it is PORT, or any free one where that is taken.
    """
    with download_bars() as report:
        site = build_site(report)
    with ExitStack() as stack:
        try:
            server = stack.enter_context(serving(site, port=PORT if port is None else port))
        except OSError:
            if port is not None:
                raise
            server = stack.enter_context(serving(site))
        address = f"{server.url}{path}"
        print(f"webxpu serves {address}\nCtrl-C ends it.", flush=True)
        if open_page and has_desktop():
            webbrowser.open(address)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()
    return exits.OK


def has_desktop() -> bool:
    """Whether a browser that opens here would be seen."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
