"""`webxpu run` as a person calls it: a process of its own, with a browser and the default model."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.host.processes import hear_ctrl_c
from webxpu.host.assets import DEFAULT_MODEL
from webxpu.host.fetch import asset
from webxpu.host.run import RESULT_KEYS

GOLDEN = json.loads((Path(__file__).parent.parent / "tests" / "goldens" / "smollm2.json").read_text())
RUN = [sys.executable, "-m", "webxpu.host.cli", "run"]
# The adapter of the other tests: CHROME_FLAGS where they are set, else SwiftShader.
ADAPTER = [] if os.environ.get("CHROME_FLAGS") else ["--adapter", "swiftshader"]
END_S = 300


def run(*arguments, **environment):
    command = [*RUN, *arguments]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=END_S
    )


def golden(kind):
    return next(entry for entry in GOLDEN["prompts"] if entry["kind"] == kind)


def test_json_is_one_object_with_the_golden_reply_to_a_chat_message():
    expected = golden("chat")
    done = run("What is the capital of Japan?", "--chat", "--json", "--max-tokens", "30", *ADAPTER)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stderr
    result = json.loads(done.stdout)
    assert tuple(result) == RESULT_KEYS
    assert result["prompt_ids"] == expected["prompt_ids"]
    assert result["text"] == expected["text_skip_special"]
    assert result["ids"] == expected["greedy_ids"][: expected["eos_index"]]
    assert result["finish_reason"] == "stop"
    assert result["adapter"]["vendor"]
    for key in ("load_ms", "prefill_ms", "prefill_tokens_per_s", "decode_tokens_per_s", "dispatches_per_token"):
        assert result[key] > 0, key


def test_text_streams_to_standard_output_and_ctrl_c_keeps_what_came():
    model = asset(DEFAULT_MODEL)
    command = [*RUN, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,", "--max-tokens", "400", "--model", str(model), *ADAPTER]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, start_new_session=True, preexec_fn=hear_ctrl_c) as process:
        first = process.stdout.read(8)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all that run in it
        rest, stderr = process.communicate(timeout=END_S)
    assert (process.returncode, first) == (130, " 13, 14,"), stderr
    assert rest.endswith("\n")
    assert re.search(
        r"^\d+ tokens \(abort\), [\d.]+ tokens/s, prompt \d+ tokens in [\d.]+ s, loaded in [\d.]+ s, \w", stderr, re.M
    )


def test_a_file_that_is_no_model_is_6_and_quotes_what_it_found(tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model at all" * 100)
    done = run("x", "--model", str(broken), *ADAPTER)
    assert (done.returncode, done.stdout) == (6, "")
    assert re.search(
        rf"^webxpu run: {re.escape(str(broken))}: .*magic number at byte 0 must be 'GGUF'", done.stderr, re.M
    )


def test_an_address_where_nothing_answers_is_5():
    done = run("x", "--model", "http://127.0.0.1:9/model.gguf", *ADAPTER)
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.startswith("webxpu run: http://127.0.0.1:9/model.gguf: ")


@pytest.mark.parametrize("command", ["run", "doctor"])
def test_a_browser_without_a_gpu_is_4_and_swiftshader_is_not_taken_instead(command):
    arguments = ["x"] if command == "run" else []
    done = subprocess.run(
        [*RUN[:-1], command, *arguments],
        env={**os.environ, "CHROME_FLAGS": "--headless --no-sandbox --disable-gpu"},
        capture_output=True,
        text=True,
        check=False,
        timeout=END_S,
    )
    assert done.returncode == 4
    assert "the browser finds no WebGPU adapter with CHROME_FLAGS" in " ".join((done.stdout + done.stderr).split())


def test_doctor_names_browser_adapter_features_limits_and_assets():
    command = [*RUN[:-1], "doctor", "--kernels", *ADAPTER]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=END_S)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^softmax/kernel +kernel\S* +(portable|target) ", done.stdout, re.M)
    for line in (
        "Python ",
        "browser ",
        "adapter ",
        "target ",
        "features ",
        "limits ",
        "assets ",
        "This machine can run models.",
    ):
        assert re.search(rf"^{line}", done.stdout, re.M), line
