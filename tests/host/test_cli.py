"""The command line as far as it goes without a browser: arguments, texts, exit codes."""

import re
import subprocess
import sys

import pytest

from webxpu.errors import DeviceError, DeviceLost, FetchError, FormatError, KernelError, OutOfMemory, Unsupported
from webxpu.host import cli, exits
from webxpu.host.browser import NoBrowser
from webxpu.host.page import check_adapter, chosen_adapter
from webxpu.host.run import page_error, summary

SWIFTSHADER = {"vendor": "google", "architecture": "swiftshader", "description": "", "isFallbackAdapter": True}
REAL = {"vendor": "nvidia", "architecture": "hopper", "description": "", "isFallbackAdapter": False}


def probe(adapter, webgpu=True):
    return {"webgpu": webgpu, "adapter": adapter}


@pytest.fixture(autouse=True)
def no_flags(monkeypatch):
    monkeypatch.delenv("CHROME_FLAGS", raising=False)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NoBrowser("x"), 3),
        (exits.NoAdapter("x"), 4),
        (FetchError("x"), 5),
        (FormatError("x"), 6),
        (exits.BadModel("x"), 6),
        (Unsupported("x"), 1),
        (DeviceError("x"), 1),
        (KernelError("x"), 1),
        (exits.BuildError("x"), 1),
        (exits.PageError("x"), 1),
        (OSError("x"), 1),
    ],
)
def test_each_failure_has_its_exit_code_and_one_text(error, code, monkeypatch, capsys):
    def fail(_):
        raise error

    monkeypatch.setattr(cli, "_doctor", fail)
    assert cli.main(["doctor"]) == code
    assert capsys.readouterr() == ("", "webxpu doctor: x\n")


def test_an_interrupt_is_130(monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_doctor", interrupt)
    assert cli.main(["doctor"]) == 130


def test_the_help_of_every_command_lists_exit_codes_and_the_environment(capsys):
    for command in ("fetch", "run", "chat", "serve", "doctor", "verify", "kernels"):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        text = capsys.readouterr().out
        for code in (0, 1, 2, 3, 4, 5, 6, 130):
            assert re.search(rf"^  {code} ", text, re.MULTILINE), (command, code)
        assert "CHROME_FLAGS" in text
        assert "WEBXPU_ASSETS" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "required: command"),
        (["run"], "required: prompt"),
        (["run", "x", "--max-tokens", "0"], "argument --max-tokens: must be at least 1, got 0"),
        (["run", "x", "--temperature", "-1"], "argument --temperature: must be 0 or more, got -1"),
        (["run", "x", "--temperature", "nan"], "argument --temperature: must be 0 or more, got nan"),
        (["run", "x", "--adapter", "metal"], "argument --adapter: invalid choice: 'metal'"),
        (["kernels", "import", "x"], "invalid choice: 'import'"),
    ],
)
def test_arguments_that_make_no_sense_are_2_and_say_why(arguments, text, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert text in capsys.readouterr().err


def test_a_machine_without_the_browser_named_is_3(monkeypatch, capsys):
    monkeypatch.setenv("CHROME", "/nowhere/chrome")
    assert cli.main(["run", "x"]) == 3
    assert (
        capsys.readouterr().err == "webxpu run: CHROME names '/nowhere/chrome', which is no program on this machine\n"
    )


def test_a_model_that_is_no_file_is_6(capsys):
    assert cli.main(["run", "x", "--model", "/nowhere/model.gguf"]) == 6
    assert capsys.readouterr().err == "webxpu run: no file or folder /nowhere/model.gguf\n"


def test_an_unknown_asset_is_5(capsys):
    assert cli.main(["fetch", "nothing"]) == 5
    assert capsys.readouterr().err.startswith("webxpu fetch: no asset is called 'nothing'")


def test_fetch_copies_files_for_offline_use(tmp_path, capsys):
    assert cli.main(["fetch", "tokenizers.mjs", "--to", str(tmp_path / "offline")]) == 0
    assert [path.name for path in (tmp_path / "offline").iterdir()] == ["tokenizers.mjs"]
    said = capsys.readouterr().out
    assert said.startswith("tokenizers.mjs ")
    assert said.endswith(f"  {tmp_path / 'offline' / 'tokenizers.mjs'}\n")


def test_kernels_export_writes_every_module_complete(tmp_path, capsys):
    assert cli.main(["kernels", "export", str(tmp_path)]) == 0
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.wgsl"))
    assert f"{len(files)} modules in {tmp_path}" in capsys.readouterr().out
    assert {"matvec/kernel.wgsl", "matvec/kernel.q8_0.wgsl", "matvec/kernel.subgroups.q4_1.wgsl"} - set(files) == {
        "matvec/kernel.wgsl"
    }
    for name in files:
        assert "fn main(" in (tmp_path / name).read_text()


def test_without_a_wish_the_adapter_is_the_browsers_own_or_what_CHROME_FLAGS_say(monkeypatch):
    assert chosen_adapter(None) == "default"
    assert chosen_adapter("vulkan") == "vulkan"
    monkeypatch.setenv("CHROME_FLAGS", "--headless")
    assert chosen_adapter(None) is None
    assert chosen_adapter("default") == "default"


def test_an_adapter_that_computes_on_the_cpu_is_refused_unless_it_was_asked_for(monkeypatch):
    check_adapter(probe(REAL), "default")
    check_adapter(probe(SWIFTSHADER), "swiftshader")
    for adapter in ("default", "vulkan"):
        with pytest.raises(
            exits.NoAdapter, match=rf"^the browser finds no GPU with --adapter {adapter}, only google swift"
        ):
            check_adapter(probe(SWIFTSHADER), adapter)
    monkeypatch.setenv("CHROME_FLAGS", "--headless")
    with pytest.raises(exits.NoAdapter, match=r"^the browser finds no GPU with CHROME_FLAGS, only google swiftshader"):
        check_adapter(probe(SWIFTSHADER), None)
    monkeypatch.setenv("CHROME_FLAGS", "--headless --use-webgpu-adapter=swiftshader")
    check_adapter(probe(SWIFTSHADER), None)


def test_no_webgpu_and_no_adapter_are_told_apart():
    with pytest.raises(exits.NoAdapter, match=r"^this browser has no WebGPU"):
        check_adapter(probe(None, webgpu=False), "default")
    with pytest.raises(exits.NoAdapter, match=r"^the browser finds no WebGPU adapter with --adapter vulkan"):
        check_adapter(probe(None), "vulkan")


def test_the_module_runs_as_a_program():
    command = [sys.executable, "-m", "webxpu.host.cli", "--help"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("usage: webxpu")


@pytest.mark.parametrize(
    ("name", "stage", "kind", "text"),
    [
        ("FormatError", "load", exits.BadModel, "m.gguf: why"),
        ("Unsupported", "load", exits.BadModel, "m.gguf: why"),
        ("FetchError", "load", FetchError, "why"),
        ("Unsupported", "generate", Unsupported, "why"),
        ("DeviceLost", "generate", DeviceLost, "why"),
        ("OutOfMemory", "load", OutOfMemory, "why"),
        ("TypeError", "start", exits.PageError, "start failed in the page: TypeError: why"),
        ("annotations", "load", exits.PageError, "load failed in the page: annotations: why"),
    ],
)
def test_an_error_in_the_page_becomes_one_of_ours(name, stage, kind, text):
    error = page_error({"name": name, "message": "why", "stage": stage}, "m.gguf")
    assert type(error) is kind
    assert str(error) == text


def test_the_summary_is_one_line():
    result = {"ids": [1, 2], "prompt_ids": [1], "finish_reason": "stop", "decode_tokens_per_s": 12.34}
    result |= {"prefill_ms": 1500.0, "load_ms": 2000.0, "adapter": REAL}
    assert summary(result) == (
        "2 tokens (stop), 12.3 tokens/s, prompt 1 tokens in 1.50 s, loaded in 2.00 s, nvidia hopper"
    )


@pytest.mark.parametrize("place", ["", "http://127.0.0.1:5/shared/x/"])
def test_a_files_error_names_it_once_and_as_it_was_given(place: str) -> None:
    error = {"name": "FormatError", "message": f"{place}m.gguf: the magic number is wrong", "stage": "load"}
    assert str(page_error(error, "folder/m.gguf")) == "folder/m.gguf: the magic number is wrong"
