"""The command `webxpu`. Each command's work is in a module of its own, imported when it is called."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from webxpu.errors import FetchError, FormatError
from webxpu.host import exits
from webxpu.host.browser import NoBrowser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; a failure is one clear text on standard error."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except (NoBrowser, FetchError, FormatError, OSError) as error:
        print(f"webxpu {options.command}: {error}", file=sys.stderr)
        return _exit_code(error)
    except KeyboardInterrupt:
        return exits.INTERRUPTED


def _exit_code(error: Exception) -> int:
    if isinstance(error, NoBrowser):
        return exits.NO_BROWSER
    if isinstance(error, FetchError):
        return exits.FETCH_FAILED
    return exits.BAD_MODEL if isinstance(error, FormatError) else exits.FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="webxpu",
        description="Models on the GPU of a real browser, from Python.",
        epilog=exits.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    fetch = commands.add_parser("fetch", help="download the third-party files")
    fetch.add_argument("names", nargs="*", help="assets to fetch; all of them by default")
    fetch.add_argument("--to", type=Path, metavar="DIR", help="copy them into a folder that WEBXPU_ASSETS can name")
    fetch.set_defaults(run=_fetch)
    return parser


def _fetch(options: argparse.Namespace) -> int:
    from webxpu.host.assets import copy_to, read_lock
    from webxpu.host.fetch import fetch
    from webxpu.host.progress import download_bars

    with download_bars() as report:
        paths = fetch(options.names or None, report)
    lock = read_lock()
    if options.to is not None:
        copy_to(options.to, {lock[name]: path for name, path in paths.items()})
    for name, path in paths.items():
        print(f"{name:20} {lock[name].size_bytes:>12,}  {path}")
    return exits.OK


if __name__ == "__main__":
    sys.exit(main())
