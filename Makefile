# What a newcomer needs: `make demo` and `make test`. Each does all its set-up.
# A machine needs Python 3.11 or later, and a package index that pip reaches. Where there is Rust, pages are read faster.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
READER := $(VENV)/.reader
BUILD  := $(VENV)/build
MARKUP := native/markup
CRATE  := --quiet --manifest-path $(MARKUP)/Cargo.toml

.PHONY: demo test check bench experiments dist docs mutants fuzz crash audit lock clean setup
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

# Many tests wait for processes, so there are three workers for two cores.
test: setup check ## Check and test everything; branches are counted, and a floor that is missed fails
	tools/install-system-parts
	$(BIN)/python -m tools.coverage --numprocesses 3 --dist worksteal

check: setup ## ruff, codespell, mypy --strict, import-linter; rustfmt and clippy where they are
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	git ls-files -z 2>/dev/null | xargs -0 --no-run-if-empty $(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports
	if command -v cargo-fmt >/dev/null; then cargo fmt $(CRATE) --check; fi
	if command -v cargo-clippy >/dev/null; then cargo clippy $(CRATE) -- --deny warnings; fi

bench: setup ## Run the benchmarks and print their tables
	$(BIN)/python -m pip install --quiet --requirement benchmarks/requirements.txt
	$(BIN)/python -m benchmarks

experiments: setup ## Measure the headline claims with real TCP in the box (needs root; within an hour)
	tools/install-system-parts
	$(BIN)/ipmicra lab box claim all --out results --pages results

dist: $(BUILD)/.ready ## Build releases into dist/: source, a wheel for everywhere, one with the compiled reader, their bill of materials
	tools/build-dist $(BUILD)/bin

$(BUILD)/.ready: requirements/build.txt
	$(PYTHON) -m venv $(BUILD)
	$(BUILD)/bin/python -m pip install --quiet --require-hashes --only-binary :all: --requirement requirements/build.txt
	@touch $(BUILD)/.ready

mutants: setup ## Break named protections one at a time; each must make its test fail
	$(BIN)/python tools/mutants.py

crash: setup ## Cut the power at thousands of moments of recorded runs (needs strace; half an hour)
	tools/install-system-parts
	IPMICRA_CUTS=$(or $(CUTS),2000) $(BIN)/python -m pytest --numprocesses 2 --dist worksteal tests/power_cut

audit: setup ## Licences and known weaknesses of all that is installed, from files that are shipped
	$(BIN)/python tools/audit.py

lock: setup ## Write versions and digests of all that is installed into requirements/; needs a package index
	tools/lock-dependencies $(BIN)

fuzz: setup ## Fuzz the parsers of foreign bytes; SECONDS=600 each, TARGET= for one of them
	$(BIN)/python -m pip install --quiet atheris==3.0.0 || echo "without Atheris: by mutation, not guided by coverage"
	$(BIN)/python tools/fuzz.py --seconds $(or $(SECONDS),600) $(TARGET)

docs: setup ## Build the documentation into site/, links checked
	$(BIN)/mkdocs build --strict --quiet

clean: ## Remove all that make has made
	rm -rf $(VENV) .parts $(MARKUP)/target results site build dist .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
