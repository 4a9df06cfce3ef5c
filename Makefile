# Two commands on a fresh machine: `make chat` and `make test`. Both set up what they need.
# Needs Python 3.11 or newer, npm and make; on Debian the rest is installed by apt.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.PHONY: help setup chat test test-models test-torch test-gemma fuzz mutants docs check wheel clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TORCH_VENV := .venv-torch
# PyTorch without CUDA; where this server does not answer, the package index's own.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

# $(call apt,packages,why): installs Debian packages, or prints the exact command where that needs root.
define apt
if ! command -v apt-get >/dev/null; then
  echo "$(2): install it (on Debian the packages are called $(1)) and run make again." >&2
  exit 1
fi
if [ "$$(id -u)" -ne 0 ]; then
  echo "$(2). Run this command and then make again:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $(1)" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends $(1)
endef

help:
	@echo "make chat        a chat page on this machine, with a real model on the GPU of your browser"
	@echo "make test        all checks and tests"
	@echo "make test-models the real model in every weight type and with every cache; CHROME_FLAGS may name a GPU"
	@echo "make test-torch  random comparisons with PyTorch, transformers and librosa, in $(TORCH_VENV)"
	@echo "make test-gemma  a real second model, Gemma 3 270M, in NumPy and on the GPU; it fetches 253 MB"
	@echo "make fuzz        random texts through sentencepiece and the package, 20,000 a model; SEED=... draws the same again"
	@echo "make mutants     breaks each guard on purpose and asks whether a case notices; OPS='softmax rope' for some"
	@echo "make docs        the pages in docs/ops, from docstrings, kernels and cases"
	@echo "make setup       the set-up alone; it leaves $(BIN)/webxpu"
	@echo "make check       formatting, lint, types, layout"
	@echo "make wheel       the wheel, in dist/"
	@echo "make clean       removes what was built here; the asset cache stays"

# The environment is made again when the dependencies change.
$(VENV)/.ready: pyproject.toml
	@if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
	  echo "Python 3.11 or newer is needed: $$($(PYTHON) --version 2>&1 || echo none)" >&2
	  exit 1
	fi
	if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then
	  $(call apt,python3-venv,Python has no ensurepip)
	fi
	echo "Making $(VENV) with webxpu and its tools; this takes a minute or two."
	[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[host]'
	touch $@

setup: $(VENV)/.ready
	@if ! command -v npm >/dev/null; then
	  echo "npm is not installed; files that no public server offers here will be missing." >&2
	fi
	if ! $(BIN)/python -m webxpu.host.browser >/dev/null 2>&1; then
	  if [ -n "$${CHROME:-}" ]; then $(BIN)/python -m webxpu.host.browser; fi
	  $(call apt,chromium fonts-liberation fonts-noto-color-emoji,No Chrome or Chromium was found)
	  $(BIN)/python -m webxpu.host.browser >/dev/null
	fi
	$(BIN)/webxpu fetch --quiet

chat: setup
	@exec $(BIN)/webxpu chat

check: $(VENV)/.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/test_layout.py

# The operations and the rest of what runs in a browser go side by side, since each waits a good deal; what the rest says
# stands below.
test: setup check
	@$(BIN)/pytest tests
	rest=$$(mktemp)
	trap 'kill $$(jobs -p) 2>/dev/null || true; rm -f "$$rest"' EXIT
	$(BIN)/pytest playwright_tests --ignore=playwright_tests/ops >"$$rest" 2>&1 &
	failed=0
	$(BIN)/pytest playwright_tests/ops || failed=1
	wait $$! || failed=1
	cat "$$rest"
	exit $$failed

# On SwiftShader some minutes, on a GPU one.
test-models: setup
	$(BIN)/pytest playwright_tests/models -m "models or not models"

# An environment of its own: PyTorch and what comes with it are larger than all the rest.
$(TORCH_VENV)/.ready: pyproject.toml
	@echo "Making $(TORCH_VENV) with PyTorch; this downloads some hundred megabytes."
	[ -x $(TORCH_VENV)/bin/python ] || $(PYTHON) -m venv $(TORCH_VENV)
	pip="$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check"
	$$pip --upgrade pip
	$$pip --no-deps --retries 1 --extra-index-url $(TORCH_INDEX) --group torch-cpu
	$$pip --group torch
	touch $@

test-torch: $(TORCH_VENV)/.ready
	$(TORCH_VENV)/bin/python -m pytest tests/torch

test-gemma: setup
	$(BIN)/pytest tests/gemma playwright_tests/gemma

# A quarter of an hour or more on two cores; FUZZ has more options, as in FUZZ="--only bpe.model --texts 100".
fuzz: setup
	$(BIN)/python -m tests.text.fuzz $(if $(SEED),--seed '$(SEED)') $(FUZZ)

mutants: setup
	$(BIN)/python -m tests.mutation $(OPS)

docs: $(VENV)/.ready
	$(BIN)/python docs/generate.py

wheel: setup
	$(BIN)/python -m hatchling build --target wheel

clean:
	rm -rf dist build .pytest_cache .mypy_cache .ruff_cache
