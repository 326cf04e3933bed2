# Two commands for a newcomer: `make demo` and `make test`. Everything else is for people who work on jiyi.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TARGET ?= storage-100k
SUITE ?= all

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check bench format reference clean

help:
	@echo "make demo            what jiyi does, in Chinese and English (no key, no server, no network)"
	@echo "make test            every test, on every engine this version has"
	@echo "make test-all        the same tests at full counts (SUITE=hostile|kills|writers|machine|all)"
	@echo "make check           format, lint, types, import layers"
	@echo "make bench           storage benchmark (TARGET=storage-100k|storage-1m|messages-1m|gateway|text|judging|upkeep|vectors|search|graph|service|streaming|postgres|postgres-vectors|claims|claims-engines)"
	@echo "make reference       write docs/reference again from the program"

# Upgrading pip first: the one that comes with Python 3.11 knows no dependency groups.
$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "jiyi needs Python 3.11 or newer; say which with: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/.user: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cli]'
	touch $@

$(VENV)/.dev: $(VENV)/.user pyproject.toml
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

demo: $(VENV)/.user
	$(BIN)/jiyi demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist worksteal

test-all: $(VENV)/.dev
	JIYI_COUNTS=full $(BIN)/python -m pytest -m "$(if $(filter all,$(SUITE)),full,full and $(SUITE))" -s

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.run $(TARGET)

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

reference: $(VENV)/.dev
	$(BIN)/python docs/generate_reference.py

clean:
	rm -rf $(VENV) demo reports .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
