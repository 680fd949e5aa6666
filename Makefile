# Set-up and checks. `make demo` and `make test` need nothing but make, Python 3.11+ and, for the control plane, Go 1.26+;
# `make test-all` also a C compiler (tests/nvml).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PYTEST := $(BIN)/python -I -m pytest
DIST   ?= dist

.PHONY: demo demo-cluster images playground-editor docs check test test-all test-versions lock clean

# The environment: every package at its locked version, by hash; then podberth itself, editable.
$(VENV)/.installed: requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 15) else f"podberth needs Python 3.11 to 3.14; got {v[0]}.{v[1]}; do: make PYTHON=python3.13 $(MAKECMDGOALS)")'
	@echo "setting up .venv (first time only, about half a minute)" >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(VENV)/.installed  ## GPU pods rewritten over HTTPS: no cluster, no GPU
	@$(BIN)/python demo/offline.py

demo-cluster: $(VENV)/.installed  ## kubectl apply intercepted on a real control plane
	@$(BIN)/python demo/cluster.py

images: $(VENV)/.installed  ## both images and their lists into $(DIST): docs/install.md
	@$(BIN)/python -m images --output $(DIST)

playground-editor: $(VENV)/.installed  ## bundle the editor of `podberth playground` again; needs npm
	@$(BIN)/python tools/playground_editor.py

docs: $(VENV)/.installed  ## a site of docs/, with search, into $(DIST)/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python tools/docs_site.py --output $(DIST)/site

check: $(VENV)/.installed  ## lint, format, types, architecture, words
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mypy tests/unit tests/property tests/integration tests/conformance tests/second_engine tests/e2e tests/deployment tests/controlplane tests/operator_pods tests/nvml tests/gotools tests/monitoring tests/containers tests/*.py demo bench tools images
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python tools/plain_words.py

test: $(VENV)/.installed  ## the tests that a change needs
	@$(BIN)/python tests/run.py

test-all: $(VENV)/.installed  ## every test that this machine can run
	@$(BIN)/python tests/run.py --all

test-versions: $(VENV)/.installed  ## other Kubernetes releases, and each Python that is here
	@$(BIN)/python tests/versions.py

lock: $(VENV)/.installed  ## resolve pyproject.toml again into requirements/*.lock
	@$(BIN)/python -m pip install --quiet uv
	@printf '%s\n' "$$LOCKS" | while read -r name flags; do \
	  $(BIN)/uv pip compile $$flags --universal --generate-hashes --python-version 3.11 --quiet --no-annotate \
	    --custom-compile-command "make lock" --output-file requirements/$$name.lock || exit 1; \
	done

# Each lock, and what of pyproject.toml it is of: runtime is the package alone; cluster and agent are the images'. That
# of the webhook can be asked for traces, too.
define LOCKS
runtime pyproject.toml
cluster pyproject.toml --extra cluster --extra tracing
agent pyproject.toml --extra agent
dev pyproject.toml --group dev
endef
export LOCKS

clean:  ## remove what make made here; the control plane's binary is cached elsewhere and stays
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
