# Everything a fresh machine needs is Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Much of what a test does is to wait, so there are more than cores.
WORKERS ?= $(shell expr $$(nproc) + 2)
# Each of them would compile all tests anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup bubblewrap demo test check bench chaos lock clean
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Treadle needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "Python's venv module is missing; on Debian or Ubuntu run: sudo apt-get install python3-venv"; exit 1; }

$(VENV)/.runtime: requirements.lock pyproject.toml | $(BIN)/python
	@echo "Setting up .venv (about 20 seconds, once)"
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --require-hashes -r requirements-build.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements-dev.lock
	@echo "Setting up the test tools"
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@

# The sandbox of run_command. Without it everything else works, so this never fails.
bubblewrap:
	@command -v bwrap >/dev/null || [ "$$(uname)" != Linux ] || { \
	  if command -v apt-get >/dev/null; then with="apt-get install -y --no-install-recommends"; first="apt-get update"; \
	  elif command -v dnf >/dev/null; then with="dnf install -y"; \
	  elif command -v apk >/dev/null; then with="apk add"; \
	  elif command -v pacman >/dev/null; then with="pacman -S --noconfirm"; \
	  elif command -v zypper >/dev/null; then with="zypper --non-interactive install"; fi; \
	  if [ "$$(id -u)" = 0 ]; then as="env DEBIAN_FRONTEND=noninteractive"; \
	  elif sudo -n true 2>/dev/null; then as="sudo -n DEBIAN_FRONTEND=noninteractive"; fi; \
	  if [ -n "$$with" ] && [ -n "$$as" ]; then \
	    echo "Installing bubblewrap, the sandbox of run_command"; \
	    $$as $$with bubblewrap >/dev/null 2>&1 || { $$as $${first:-true} && $$as $$with bubblewrap; } >/dev/null 2>&1; \
	  fi; \
	  command -v bwrap >/dev/null || \
	    echo "run_command stays off without bubblewrap; to have it, run: sudo $${with:-(your package manager) install} bubblewrap"; \
	} || true

setup: $(VENV)/.runtime bubblewrap ## install the pinned dependencies into .venv, and bubblewrap

demo: $(VENV)/.runtime bubblewrap ## a small Slack workspace in your browser; no account, no key
	@$(BIN)/treadle demo

test: $(VENV)/.dev bubblewrap check ## all tests: WORKERS processes share them, then two those that need a core
	@$(BIN)/python -m pytest -n $(WORKERS) -m "not alone" $(PYTEST_ARGS)
	@$(BIN)/python -m pytest -n 2 -m alone $(PYTEST_ARGS)

check: $(VENV)/.dev ## format, lint, types, import directions
	@$(BIN)/ruff format --check bot tools tests
	@$(BIN)/ruff check bot tools tests
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(VENV)/.dev ## measure Treadle: beside the least bot, its turns, its acknowledgements
	@$(BIN)/python -m tests.bench
	@$(BIN)/python -m tests.bench.turns
	@$(BIN)/python -m tests.bench.intake

chaos: $(VENV)/.dev ## kill Treadle for MINUTES (10), run after run from SEED on (CHAOS_ARGS=--cluster)
	@$(BIN)/python -m tests.chaos --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED)) $(CHAOS_ARGS)

lock: ## write the lock files anew (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate pyproject.toml -o requirements.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate --extra dev --extra cluster pyproject.toml -o requirements-dev.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate --extra cluster pyproject.toml -o requirements-cluster.lock
	printf 'hatchling>=1.27\neditables>=0.5\n' | uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate -c requirements-dev.lock - -o requirements-build.lock

clean: ## remove what setup and the demo made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
