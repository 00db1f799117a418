# Everything that a fresh machine needs is installed by the first target that needs it.

STACK ?= dev
CLOUD ?= simulated
PROJECT ?= .
ARGS  ?=
PYTHON ?= python3

BIN   := .venv/bin
PULUMI := $(BIN)/python -m gpu_fabric.engine
# A folder may have a space in its name.
RUN   := --stack '$(STACK)' --cloud '$(CLOUD)' --project '$(PROJECT)'
# On GitHub and other CI systems as at a desk: one worker a core.
WORKERS ?= auto

.DEFAULT_GOAL := help
.PHONY: help preview up outputs refresh destroy cancel stack test test-slow lint format docs benchmark clouds forget lock clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z.-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  STACK=dev                  the stack; its file is Pulumi.<stack>.yaml"
	@echo "  CLOUD=simulated|real       simulated clouds (no account), or your own login and the vendors' providers"
	@echo "  PROJECT=.                  the folder of Pulumi.yaml, such as examples/p4d-cluster"
	@echo "  ARGS='--diff'              more arguments for pulumi"

preview: .venv/.ready ## Plan the stack on the real Pulumi engine
	@$(PULUMI) preview $(RUN) -- $(ARGS)

up: .venv/.ready ## Make what the plan says
	@$(PULUMI) up $(RUN) -- $(ARGS)

outputs: .venv/.ready ## What the stack says about itself: names, addresses, commands to paste
	@$(PULUMI) outputs $(RUN) -- $(ARGS)

refresh: .venv/.ready ## Compare the state with what the cloud holds
	@$(PULUMI) refresh $(RUN) -- $(ARGS)

destroy: .venv/.ready ## Remove everything of the stack
	@$(PULUMI) destroy $(RUN) -- $(ARGS)

cancel: .venv/.ready ## Free the stack after a run that was killed
	@$(PULUMI) cancel $(RUN) -- $(ARGS)

stack: .venv/.ready ## Other commands of `pulumi stack`, such as ARGS='rm --yes' once everything is removed
	@$(PULUMI) stack $(RUN) -- $(ARGS)

test: .venv/.ready-dev ## All tests that run without a cloud account, a GPU or the internet
	@scripts/system-packages
	@$(BIN)/python -m gpu_fabric.engine find
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal $(ARGS)

test-slow: .venv/.ready-dev ## The tests that take minutes
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal -m slow $(ARGS)

lint: .venv/.ready-dev ## Style, types, and shell scripts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/ty check
	@$(BIN)/shellcheck $$(git ls-files | xargs grep -slE '^#!.*\b(ba)?sh$$')

format: .venv/.ready-dev ## Mend the style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: .venv/.ready-dev ## The documentation site, in build/site; ends at a broken link
	@scripts/site-source
	@$(BIN)/zensical build --strict --clean

benchmark: .venv/.ready-dev ## Preview time and resource counts, side by side
	@$(BIN)/python -m benchmarks.preview $(ARGS)

preflight.pyz: .venv/.ready ## gpu-fabric-preflight as one file, for nodes without internet
	@$(BIN)/python -m gpu_fabric.cli preflight --write $@

clouds: .venv/.ready ## What the simulated clouds hold
	@if [ -e '$(PROJECT)/Pulumi.yaml' ] && [ ! -e '$(PROJECT)/.rehearsal/clouds.sqlite' ]; then \
	  echo 'The simulated clouds are empty: nothing was made yet.'; \
	else \
	  $(BIN)/python -m gpu_fabric.rehearsal --database '$(PROJECT)/.rehearsal/clouds.sqlite' show; \
	fi

forget: ## Throw the simulated clouds and their stacks away
	rm -rf .rehearsal examples/*/.rehearsal

lock: .venv/.ready-dev ## Pin the newest versions that pyproject.toml allows
	$(BIN)/uv pip compile -q --upgrade --universal --python-version 3.11 --extra aws --extra azure --extra equinix --extra policy --extra rehearsal --group build --no-header pyproject.toml -o requirements.txt
	$(BIN)/uv pip compile -q --upgrade --universal --python-version 3.11 --extra live-aws --extra live-azure --group dev -c requirements.txt --no-header pyproject.toml -o requirements-dev.txt

clean: forget ## The same, and the environment
	rm -rf .venv .cache .pytest_cache .ruff_cache .hypothesis build dist *.egg-info

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; this is " + sys.version.split()[0])'
	$(PYTHON) -m venv .venv

.venv/.ready: requirements.txt pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.ready-dev: requirements-dev.txt .venv/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@
