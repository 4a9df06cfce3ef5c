"""The exit codes of the command line, and which error gives which."""

from __future__ import annotations

from webxpu.errors import DeviceError, FetchError, FormatError, KernelError, TemplateError, Unsupported
from webxpu.host.browser import NoBrowser

OK = 0
FAILED = 1
USAGE = 2
NO_BROWSER = 3
NO_ADAPTER = 4
FETCH_FAILED = 5
BAD_MODEL = 6
INTERRUPTED = 130

HELP = """exit codes:
  0    done
  1    failed for a reason that the message tells; verify: a case disagrees, or nothing ran
  2    the command was not understood
  3    no Chrome or Chromium, or it could not be started
  4    no WebGPU adapter, or none of the kind asked for
  5    a download failed: an asset, or the model's address
  6    the model's file is broken, or of a kind that webxpu cannot run
  130  interrupted

environment:
  CHROME         the browser's program
  CHROME_FLAGS   all its flags; --adapter, where given, wins over adapter flags among them
  WEBXPU_ASSETS  a folder with the third-party files; then nothing is downloaded
"""


class UsageError(ValueError):
    """An argument of the command names nothing that there is."""


class NoAdapter(Unsupported):
    """The browser offers no WebGPU adapter, or only one that computes on the CPU and was not asked for."""


class BadModel(FormatError):
    """The model's file is broken, missing, or of a kind that webxpu cannot run."""


class PageError(RuntimeError):
    """The page failed in a way that is no error of webxpu's own: a crash, a script that did not load."""


class BuildError(RuntimeError):
    """A wheel could not be built; the message ends with what the tool said."""


REPORTED = (
    UsageError, Unsupported, FormatError, TemplateError, DeviceError, KernelError, PageError, BuildError, OSError,
)  # fmt: skip
_CODES = (
    (UsageError, USAGE),
    (NoBrowser, NO_BROWSER),
    (NoAdapter, NO_ADAPTER),
    (FetchError, FETCH_FAILED),
    (FormatError, BAD_MODEL),
    (TemplateError, BAD_MODEL),
)


def code_of(error: BaseException) -> int:
    """The exit code for an error; FetchError is an OSError, so the order of the table counts."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)
