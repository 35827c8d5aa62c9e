# Needs only Python (3.10 or newer) with venv. PIP_OPTIONS goes to pip, e.g. PIP_OPTIONS="--no-index --find-links wheels".
PYTHON ?= python3
PIP_OPTIONS ?=
BIN := .venv/bin

.PHONY: demo test check bench soak clean

demo: .venv/demo
	$(BIN)/clsprobe demo -o clsprobe-demo

test: .venv/dev
	$(BIN)/python -m pytest

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

soak: .venv/dev
	CLS_PROBE_SOAK=1 $(BIN)/python -m pytest tests/test_crashes.py

bench: .venv/dev
	$(BIN)/python benchmarks/run.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo: PACKAGE := .
.venv/dev: PACKAGE := .[dev]

.venv/demo .venv/dev: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install $(PIP_OPTIONS) --quiet --disable-pip-version-check -c constraints.txt -e '$(PACKAGE)'
	touch $@

clean:
	rm -rf .venv clsprobe-demo build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
