# Everything runs in .venv, which `make setup` builds from the pins in pyproject.toml.
PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin
STAMP := .venv/.complete
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint bench evidence docs clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

setup: $(STAMP) ## create .venv with the pinned tools; does nothing when it is up to date
	@:

# --no-deps for our own two: what they need must be in the pinned group, and `pip check` says so when it is not
$(STAMP): pyproject.toml lint/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pullback needs Python 3.11 or newer: make PYTHON=python3.x setup")'
	@rm -f $@
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@$(PIP) install pip==25.3
	@$(PIP) install --group dev
	@$(PIP) install --no-build-isolation --no-deps --editable . --editable lint
	@$(PIP) check
	@touch $@

demo: setup ## train a small network with functions of our own on real data; writes demo.png
	@$(BIN)/pullback demo

test: setup ## all tests
	@$(BIN)/python -m pytest -n $(WORKERS)

lint: setup ## style, formatting, types
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/pullback-lint src

bench: setup ## the budgets, as ratios measured side by side
	@$(BIN)/python -m pytest -p pytest_benchmark.plugin --benchmark-only benchmarks

evidence: setup ## check published packages and write what came of it into docs/field.md; needs the network
	@$(BIN)/python benchmarks/evidence.py

docs: setup ## regenerate the generated pages
	@$(BIN)/python docs/build.py

clean: ## remove what was built, .venv included
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks demo.png
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
