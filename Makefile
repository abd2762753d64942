# What a newcomer needs: `make demo` and `make test`. Each does all its set-up.
# A machine needs Python 3.11 or later, and a package index that pip reaches. Where there is Rust, pages are read faster.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
READER := $(VENV)/.reader
MARKUP := native/markup
CRATE  := --quiet --manifest-path $(MARKUP)/Cargo.toml

.PHONY: demo test check bench experiments dist docs mutants clean setup
.DEFAULT_GOAL := help

help: ## Say what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/'

setup: $(READY) $(READER) ## Make the virtual environment with all that the other targets need

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt uv
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --constraint constraints.txt --editable '.[dev]' \
	  || $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

$(READER): $(READY) $(wildcard $(MARKUP)/src/*.rs) $(MARKUP)/Cargo.toml $(MARKUP)/Cargo.lock $(MARKUP)/pyproject.toml
	tools/build-reader $(BIN)/python
	@touch $(READER)

demo: setup ## Show the main job at work; stays up until Ctrl-C, or with DEMO=--no-wait ends
	$(BIN)/ipmicra demo $(DEMO)

test: setup check ## Check and test everything
	tools/install-system-parts
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

check: setup ## ruff, mypy --strict, import-linter; rustfmt and clippy where they are
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	if command -v cargo-fmt >/dev/null; then cargo fmt $(CRATE) --check; fi
	if command -v cargo-clippy >/dev/null; then cargo clippy $(CRATE) -- --deny warnings; fi

coverage: setup ## Run the tests under coverage.py and print the figures; slow on Python 3.11
	$(BIN)/coverage run -m pytest -q
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

bench: setup ## Run the benchmarks and print their tables
	$(BIN)/python -m pip install --quiet --requirement benchmarks/requirements.txt
	$(BIN)/python -m benchmarks

experiments: setup ## Measure the headline claims with real TCP in the box (needs root; within an hour)
	tools/install-system-parts
	$(BIN)/ipmicra lab box claim all --out results --pages results

dist: setup ## Build the packages into dist/: source, a wheel for everywhere, and one with the compiled reader
	tools/build-dist $(BIN)

mutants: setup ## Break named protections one at a time; each must make its test fail
	$(BIN)/python tools/mutants.py

docs: setup ## Build the documentation into site/, links checked
	$(BIN)/mkdocs build --strict --quiet

clean: ## Remove all that make has made
	rm -rf $(VENV) .parts $(MARKUP)/target results site build dist .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
