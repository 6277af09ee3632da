# One task runner: `make help` lists what there is. Each target makes the environment it needs.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
SLOW ?=
TESTS ?= tests
PYTHONS ?=

unexport PYTHONDONTWRITEBYTECODE # tests start hundreds of processes, each of which would compile all anew

.DEFAULT_GOAL := help
.PHONY: help quick demo test nightly pythons mutants format bench docs version release audit screenshots lock clean

# The versions are those of requirements/*.lock, each file held by its hash (docs/adr/0002-libraries.md).
# A lock is complete, so nothing is resolved: an old pip does not apply a pin to a name with an extra.
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check
LOCKED := $(INSTALL) --no-deps --require-hashes --requirement
PROJECT := $(INSTALL) --no-deps --no-build-isolation --editable .

help:  ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 22

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; set PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml requirements/hub.lock
	$(LOCKED) requirements/hub.lock
	$(PROJECT)
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements/dev.lock
	$(LOCKED) requirements/dev.lock
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed requirements/docs.lock
	$(LOCKED) requirements/docs.lock
	@touch $@

$(VENV)/.installed-release: $(VENV)/.installed requirements/release.lock
	$(LOCKED) requirements/release.lock
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev requirements/bench.lock
	$(LOCKED) requirements/bench.lock
	@touch $@

demo: $(VENV)/.installed  ## Run a small challenge with five servers here (ARGS=--exit stops after the leaderboards)
	@$(BIN)/metaserver demo --package demo-results $(ARGS)

test: $(VENV)/.installed-dev  ## Run the tests (SLOW=1 also the slow ones, TESTS=path only some, ARGS="--store postgresql" hubs on it)
	$(BIN)/pytest -n auto --dist worksteal $(TESTS) $(if $(SLOW),-m "not nightly") $(ARGS)

pythons: $(VENV)/.installed-dev  ## Run the unit tests on the other supported Pythons found here (PYTHONS="3.13" only these)
	PYTHONS="$(PYTHONS)" .ci/pythons $(BIN) $(if $(filter-out tests,$(TESTS)),$(TESTS))

nightly:  ## Run what `make test SLOW=1` leaves out, on all Pythons and PostgreSQL, with mutants (an hour and more)
	bash .ci/run nightly

mutants: $(VENV)/.installed-dev  ## Put small defects into the core: the tests must notice (docs/testing.md)
	$(BIN)/python -m tests.mutants $(ARGS)

quick: $(VENV)/.installed-dev  ## Check format, lint, types, imports and docs in a minute; changes no file
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -q tests/docs

format: $(VENV)/.installed-dev  ## Format the code and mend what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed-bench  ## Measure against named peers, each in one run (ARGS="codec dispatch" only these)
	$(BIN)/python -m benchmarks $(ARGS)

version:  ## Say a new version in every place (VERSION=0.4.0, DATE=2027-01-31 if not today)
	$(PYTHON) .ci/version.py $(VERSION) $(DATE)

release: $(VENV)/.installed-release  ## Build wheel, sdist, bill of materials and checksums in dist
	.ci/release $(BIN)

audit: $(VENV)/.installed-release  ## Ask PyPI's advisories about the libraries (AUDIT=required: it must answer)
	$(BIN)/python .ci/audit.py

docs: $(VENV)/.installed-docs  ## Build the documentation's site in build/docs; a link that leads nowhere is an error
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -c docs/site . build/docs

screenshots: $(VENV)/.installed-dev  ## Make the screenshots of the README and the docs again
	$(BIN)/pytest -q tests/browser/screenshots.py

lock: $(VENV)/.made  ## Resolve the versions again (ARGS=--upgrade takes the newest that pyproject.toml allows)
	$(INSTALL) 'uv>=0.9'
	$(LOCK) --extra dev --extra bench --extra otel --extra plots --output-file requirements/bench.lock pyproject.toml requirements/build.in
	$(LOCK) --extra dev --constraint requirements/bench.lock --output-file requirements/dev.lock pyproject.toml requirements/build.in
	$(LOCK) --extra docs --constraint requirements/dev.lock --output-file requirements/docs.lock pyproject.toml requirements/build.in
	$(LOCK) --extra release --constraint requirements/dev.lock --output-file requirements/release.lock pyproject.toml requirements/build.in
	$(LOCK) --constraint requirements/dev.lock --output-file requirements/hub.lock pyproject.toml requirements/build.in
	$(LOCK) --output-file requirements/peers.lock requirements/peers.in
	npm install --prefix requirements/peers --package-lock-only --no-audit --no-fund

LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate $(ARGS) \
  --custom-compile-command "make lock"

clean:  ## Remove the environment and what tools left
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage
