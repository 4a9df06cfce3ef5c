"""The exit codes of the command line."""

from __future__ import annotations

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
  1    failed for a reason that the message tells
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
