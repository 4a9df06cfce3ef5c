"""The Makefile on machines that lack something, with stand-ins for the programs it calls."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
REAL = ("bash", "sh", "make", "touch", "mkdir", "cat", "echo")


@pytest.fixture
def machine(tmp_path):
    """A folder with the Makefile, and a path that has only a few programs; `machine.program(name, body)` adds one."""

    class Machine:
        folder = tmp_path / "repository"
        path = tmp_path / "bin"
        log = tmp_path / "log"

        def program(self, name, body, folder=None):
            program = (folder or self.path) / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f'#!/bin/sh\necho "{name} $*" >> "{self.log}"\n{body}\n')
            program.chmod(0o755)

        def venv(self, browser="exit 0"):
            """An environment that is ready, whose Python answers whether there is a browser."""
            binaries = self.folder / ".venv" / "bin"
            self.program("python", browser, binaries)
            self.program("webxpu", "", binaries)
            (self.folder / ".venv" / ".ready").touch()

        def make(self, target, **environment):
            command = ["make", "--no-print-directory", target]
            environment = {"PATH": str(self.path), "HOME": os.environ.get("HOME", "/"), **environment}
            done = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=60
            )
            calls = self.log.read_text().splitlines() if self.log.exists() else []
            return done.returncode, done.stderr, calls

    machine = Machine()
    machine.folder.mkdir()
    machine.path.mkdir()
    for name in REAL:
        (machine.path / name).symlink_to(shutil.which(name))
    shutil.copy(ROOT / "Makefile", machine.folder)
    (machine.folder / "pyproject.toml").touch()
    machine.program("npm", "")
    machine.program("id", "echo 1000")
    machine.program("apt-get", "")
    machine.program("python3", "exit 0")
    machine.log.unlink(missing_ok=True)
    return machine


def test_with_a_browser_the_files_are_fetched_and_apt_is_not_called(machine):
    machine.venv()
    code, _, calls = machine.make("setup")
    assert (code, calls) == (0, ["python -m webxpu.host.browser", "webxpu fetch --quiet"])


def test_without_a_browser_and_without_root_the_exact_command_is_printed(machine):
    machine.venv(browser="exit 1")
    code, stderr, calls = machine.make("setup")
    assert code != 0
    assert stderr.startswith(
        "No Chrome or Chromium was found. Run this command and then make again:\n  sudo apt-get update "
    )
    assert "apt-get install -y --no-install-recommends chromium fonts-liberation fonts-noto-color-emoji\n" in stderr
    assert calls == ["python -m webxpu.host.browser", "id -u"]


def test_without_a_browser_root_installs_one_with_fonts(machine):
    machine.venv(browser=f'[ -e "{machine.folder}/installed" ]')
    machine.program("apt-get", f'touch "{machine.folder}/installed"')
    machine.program("id", "echo 0")
    code, _, calls = machine.make("setup")
    assert code == 0
    installed = "apt-get install -q -y --no-install-recommends chromium fonts-liberation fonts-noto-color-emoji"
    assert [call for call in calls if call.startswith(("apt", "webxpu"))] == [
        "apt-get update -q",
        installed,
        "webxpu fetch --quiet",
    ]


def test_a_CHROME_that_does_not_exist_is_an_error_and_nothing_is_installed(machine):
    machine.venv(browser="echo 'CHROME names no program' >&2; exit 1")
    machine.program("id", "echo 0")
    code, stderr, calls = machine.make("setup", CHROME="/nowhere/chrome")
    assert code != 0
    assert stderr.startswith("CHROME names no program\n")
    assert not [call for call in calls if call.startswith("apt")]


def test_a_machine_that_is_no_debian_is_told_what_to_install(machine):
    machine.venv(browser="exit 1")
    (machine.path / "apt-get").unlink()
    code, stderr, _ = machine.make("setup")
    assert code != 0
    assert stderr.startswith("No Chrome or Chromium was found: install it (on Debian the packages are called chromium ")


def test_without_ensurepip_and_without_root_the_exact_command_is_printed(machine):
    machine.program("python3", 'case "$*" in *ensurepip*) exit 1;; esac')
    code, stderr, calls = machine.make("setup")
    assert code != 0
    assert stderr.startswith("Python has no ensurepip. Run this command and then make again:\n")
    assert "  sudo apt-get update && sudo apt-get install -y --no-install-recommends python3-venv\n" in stderr
    assert not [call for call in calls if "venv .venv" in call]


def test_a_python_that_is_too_old_is_named(machine):
    machine.program("python3", 'case "$*" in *version_info*) exit 1;; --version) echo Python 3.9.2;; esac')
    code, stderr, _ = machine.make("setup")
    assert code != 0
    assert stderr.startswith("Python 3.11 or newer is needed: Python 3.9.2\n")


def test_a_new_dependency_makes_the_environment_again(machine):
    machine.venv()
    os.utime(machine.folder / ".venv" / ".ready", (1, 1))
    code, _, calls = machine.make("setup")
    assert code == 0
    assert "python -m pip install --quiet --disable-pip-version-check --editable .[host]" in calls


def test_continuous_integration_runs_the_tests_and_stops_at_the_first_failure(machine):
    script = (ROOT / ".ci" / "run").read_text()
    assert script.startswith("#!/bin/bash\n")
    assert "set -euo pipefail" in script
    assert script.endswith("exec make test\n")
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_comparison_with_torch_has_an_environment_of_its_own_and_runs_its_folder_alone(machine):
    machine.program("python", "", machine.folder / ".venv-torch" / "bin")
    code, stderr, calls = machine.make("test-torch", TORCH_INDEX="https://torch.example")
    assert code == 0, stderr
    install = "python -m pip install --quiet --disable-pip-version-check"
    assert calls == [
        f"{install} --upgrade pip",
        f"{install} --no-deps --retries 1 --extra-index-url https://torch.example --group torch-cpu",
        f"{install} --group torch",
        "python -m pytest tests/torch",
    ]
    machine.log.unlink()
    assert machine.make("test-torch")[2] == ["python -m pytest tests/torch"]


def test_the_fuzz_takes_a_seed_and_options(machine):
    machine.venv()
    assert machine.make("fuzz")[2][-1] == "python -m tests.text.fuzz"
    code, stderr, calls = machine.make("fuzz", SEED="5", FUZZ="--only bpe.model")
    assert code == 0, stderr
    assert calls[-1] == "python -m tests.text.fuzz --seed 5 --only bpe.model"


def test_the_mutants_of_some_ops_can_be_asked_for(machine):
    machine.venv()
    code, stderr, calls = machine.make("mutants", OPS="softmax rope")
    assert code == 0, stderr
    assert calls[-1] == "python -m tests.mutation softmax rope"
