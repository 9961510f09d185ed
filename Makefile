# Every target sets up what it needs in .venv; Python 3.11 or newer and git are all it asks for.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_READY := $(VENV)/.ready-run
DEV_READY := $(VENV)/.ready-dev
TESTS_READY := $(VENV)/.ready-tests
REPO ?=
INFO ?=
EXIT ?=
REPLICAS ?=
FORGE ?=
# uv installs in a quarter of the time; where there is none, or it finds nothing, pip does, with its own settings.
PIP_INSTALL = $(BIN)/pip install --quiet
install = { [ -x $(BIN)/uv ] || $(PIP_INSTALL) uv; } && $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || \
  { $(PIP_INSTALL) --upgrade pip && $(PIP_INSTALL) $(1); }
# Nothing of an editable installation is compiled: commands start twice as fast.
COMPILE = $(BIN)/python -m compileall -q bot cadlib fnrunner lifecycle
# Half of what the tests do is waiting for other processes. One more would take 6 % more of the
# processors (each collects all tests, and slows the others' waiting) and end no sooner.
WORKERS = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) * 2)')
# Where who asks the kernel for huge pages gets them. In a virtual machine on a busy host, to find an
# address through small ones can take as long as all else: `import bot.serve` 3.8 s, and 2.2 s with them.
HUGE_PAGES := $(if $(findstring [madvise],$(shell cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null)),\
  GLIBC_TUNABLES=glibc.malloc.hugetlb=1 PYTHONMALLOC=malloc)
CASES ?=
N ?= 1000
SEED ?=
SECONDS ?=
AREAS ?=

.PHONY: demo playground test walkthrough stories stories-real check cases simulate bench mutations proto reference tools clean

demo: $(RUN_READY)
	@$(BIN)/porchbot demo $(if $(REPO),--repo "$(REPO)") $(if $(EXIT),--exit) $(if $(FORGE),--forge "$(FORGE)")

playground: $(RUN_READY)
	@$(BIN)/porchbot playground $(if $(REPO),--repo "$(REPO)") $(if $(INFO),--info "$(INFO)") \
	  $(if $(REPLICAS),--replicas "$(REPLICAS)") $(if $(FORGE),--forge "$(FORGE)")

# Compiled modules are kept whatever the environment says: the tests start hundreds of processes.
test stories stories-real $(TESTS_READY): export PYTHONDONTWRITEBYTECODE =
# The lines of cadlib and lifecycle that the tests run are held against a floor, which says nothing while it holds.
test: $(TESTS_READY) tools
	$(HUGE_PAGES) bash tests/in_memory.sh $(BIN)/python -m slipcover --immediate --source cadlib,lifecycle --json --out $(VENV)/coverage.json \
	  -m pytest -p tests.distribution -n $(WORKERS) --dist loadscope
	@$(BIN)/python -m tests.floor $(VENV)/coverage.json

# All stories with HTTP, PostgreSQL, git and processes; `make test` tells most of them in simulated time (ADR 30).
stories-real: $(TESTS_READY) tools
	$(HUGE_PAGES) bash tests/in_memory.sh $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --real-stories $(if $(FORGE),--forge "$(FORGE)") tests/stories

# All stories at one forge, most of them in simulated time.
stories: $(TESTS_READY) tools
	$(HUGE_PAGES) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --forge "$(or $(FORGE),github)" tests/stories

check: $(DEV_READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(HUGE_PAGES) $(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture
	$(BIN)/deptry .

cases: $(DEV_READY)
	@$(BIN)/python -m tests.cases $(if $(CASES),"$(CASES)")

# N histories (or as many as fit into SECONDS), the first drawn from SEED; one alone is printed.
# VARIANTS=all|none|apart: with variants in each, in none, or in each with a second repository;
# by default in every fourth, half of these with that repository.
simulate: $(DEV_READY)
	@$(HUGE_PAGES) $(BIN)/python -m tests.simulation $(N) $(if $(REAL),--real) $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(FORGE),--forge $(FORGE)) $(if $(VARIANTS),--variants $(VARIANTS))

bench: $(DEV_READY) tools
	$(BIN)/python -m tests.benchmarks

mutations: $(DEV_READY) tools
	$(BIN)/python -m tests.mutations $(AREAS)

# The pages and schemas of docs/reference, made from the code.
reference: $(DEV_READY)
	$(BIN)/python -m tests.reference

# A new user's way in Chromium and the terminal; takes the pictures of docs/guide.
walkthrough: $(DEV_READY)
	@$(BIN)/python -m tests.walkthrough

proto: $(DEV_READY)
	$(call install,--group proto)
	$(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. --grpc_python_out=. fnrunner/wire/proto/evaluator.proto

# Programs that tests of the runner use: a sandbox, a registry, what function images are made of.
tools: | $(VENV)/bin/python
	@bash tests/tools.sh $(VENV)

clean:
	rm -rf $(VENV)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "porchbot needs Python 3.11 or newer; set PYTHON=/path/to/python3.11 (found: $$($(PYTHON) --version))"; exit 1; }
	@command -v git >/dev/null || { echo "porchbot needs git: install it first"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUN_READY): pyproject.toml | $(VENV)/bin/python
	@echo "Installing porchbot into $(VENV) ..."
	@$(call install,--editable '.[demo]')
	@$(COMPILE)
	@touch $@

$(DEV_READY): pyproject.toml | $(VENV)/bin/python
	@echo "Installing porchbot and what its tests need into $(VENV) ..."
	@$(call install,--editable '.[demo]' --group dev)
	@$(COMPILE)
	@touch $@ $(RUN_READY)

# pytest rewrites assertions: once for all, in place of once in each of its processes.
$(TESTS_READY): $(DEV_READY) $(shell find tests -name '*.py')
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null || true
	@touch $@
