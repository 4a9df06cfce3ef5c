"""`webxpu chat` and `webxpu serve` as processes."""

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from tests.host.processes import hear_ctrl_c
from webxpu.host.chat import has_desktop


def start(*arguments):
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    command = [sys.executable, "-m", "webxpu.host.cli", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, preexec_fn=hear_ctrl_c, **pipes)


def address_of(process):
    line = process.stdout.readline()
    found = re.fullmatch(r"webxpu serves (http://127\.0\.0\.1:\d+/\S*)\n", line)
    assert found, line or process.stderr.read()
    return found[1]


@pytest.mark.parametrize(("command", "path"), [("chat", "/chat/"), ("serve", "/")])
def test_it_prints_the_address_of_a_page_that_is_there_and_ends_at_ctrl_c(command, path):
    process = start(command)
    try:
        address = address_of(process)
        assert address.endswith(path)
        with urllib.request.urlopen(address, timeout=10) as answer:
            assert b"<title>" in answer.read()
            assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    finally:
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=10)
    assert (process.returncode, stderr) == (0, "")


def test_where_the_usual_port_is_taken_it_takes_another_but_not_for_one_asked_for():
    first = start("serve", "--port", "0")
    try:
        taken = address_of(first).rsplit(":", 1)[1].rstrip("/")
        second = start("serve", "--port", taken)
        _, stderr = second.communicate(timeout=20)
        assert second.returncode == 1
        assert re.match(r"webxpu serve: .*address already in use", stderr)
    finally:
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=10)


@pytest.mark.parametrize(("name", "value"), [("DISPLAY", ":0"), ("WAYLAND_DISPLAY", "wayland-0")])
def test_a_desktop_is_where_there_is_a_display(monkeypatch, name, value):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not has_desktop()
    monkeypatch.setenv(name, value)
    assert has_desktop()
