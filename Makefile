# Two commands matter: `make demo` shows what this is, `make test` proves it. Both need python3.11, make and git only.
PYTHON ?= python3.11
BIN := .venv/bin

.PHONY: help demo test check lock clean

help: ## what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

.venv/runtime.stamp: requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is not installed (set PYTHON=... to another 3.11+)" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q retro memory playbook  # so that the first start is a quick one, too
	touch $@

.venv/dev.stamp: requirements-dev.lock .venv/runtime.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	touch $@

demo: .venv/runtime.stamp ## the sample agent's reviews: no key, no server
	@$(BIN)/python examples/demo.py

check: .venv/dev.stamp ## format, lint, types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check ## everything, with real PostgreSQL, SMTP and git
	$(BIN)/python -m pytest -n auto --dist worksteal  # neighbours share what a file makes once

lock: ## both lock files anew, without URLs
	$(BIN)/python -m uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --extra postgres --extra freqtrade --extra mcp --group build -q -o requirements.lock
	$(BIN)/python -m uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --all-extras --group build --group dev --group browser -q -o requirements-dev.lock

clean: ## forget the environment and the demo
	rm -rf .venv demo
