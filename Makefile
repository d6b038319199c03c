# make test needs only make and Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SNAKEMAKE := $(BIN)/python -m snakemake

# In the path of this folder, pip's scripts or Snakemake would read them as something else. A shell may
# even run what follows them.
ODD := $$ ` " \ { } :
ifneq (,$(strip $(foreach letter,$(ODD),$(findstring $(letter),$(CURDIR)))))
$(error a folder whose path contains one of $(ODD) cannot be used: rename $(CURDIR))
endif

# Python reads and writes UTF-8, whatever the locale.
export PYTHONUTF8 := 1

.PHONY: help reproduce paper run test test-slurm test-random test-kill test-damage fuzz lint format bench load variations restore publish clean rulegraph

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

# Rebuilt when the pinned versions change. The stamp is written last, so a partial install does not count.
$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "$(PYTHON) is older than 3.11: try make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/snap compile
	@touch $@

# PROFILE=profiles/slurm runs on a cluster. The command needs no shell, so that signals to make reach run.py.
# The empty line at the end lets several runs follow one another in a recipe.
define run
	@$(BIN)/python workflow/run.py $(1) $(if $(PROFILE),--workflow-profile $(PROFILE))

endef

reproduce: $(VENV)/installed  ## the whole paper with fewer samples, epochs, pairs and seeds: minutes
	$(call run,--configfile workflow/presets/quick.yaml)

paper: $(VENV)/installed  ## the whole paper: hours, resumable
	$(call run,)

# run.py reads CONFIG from the environment: neither a shell nor make expands it.
override CONFIG := $(value CONFIG)
export CONFIG
run: $(VENV)/installed  ## your own experiment: CONFIG=mine.yaml changes config.yaml, results go to results/mine
	$(call run,--configs CONFIG)

# The triton engine's tests run in Triton's interpreter, which must be chosen before Python starts.
test: $(VENV)/installed lint  ## run every test
	$(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
	TRITON_INTERPRET=1 $(BIN)/pytest -m interpreted --numprocesses auto --maxprocesses 4 tests/interpreted

SLURM_TESTS ?= slurm
test-slurm: $(VENV)/installed  ## run the workflow on a SLURM cluster on this machine (as root)
	$(BIN)/pytest -m "$(SLURM_TESTS)" --durations 0

test-random: $(VENV)/installed  ## run the property tests with random seeds and ten times the examples
	HYPOTHESIS_PROFILE=random MORE_EXAMPLES=10 $(BIN)/pytest tests/test_bad_input.py tests/test_trial.py \
	  tests/test_paper_tables.py

KILLS ?= 20
SEED ?= 0
test-kill: $(VENV)/installed  ## kill a run, or one of its processes, KILLS times and compare its results
	$(BIN)/python tests/kill.py --kills $(KILLS) --seed $(SEED)

N ?= 2000
fuzz: $(VENV)/installed  ## try N hostile and valid inputs from a SEED; CASE=17 repeats one of them
	$(BIN)/python tests/fuzz.py --number $(N) --seed $(SEED) $(if $(CASE),--case $(CASE))

test-damage: $(VENV)/installed  ## damage every file of a run, each in six ways
	$(BIN)/python tests/damage.py --seed $(SEED)

lint: $(VENV)/installed  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(SNAKEMAKE) --lint

format: $(VENV)/installed  ## fix style and format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

bench: $(VENV)/installed  ## measure the engines on this machine
	$(BIN)/snap bench

load: $(VENV)/installed  ## measure the workflow with 20 seeds
	$(BIN)/python tests/load.py

VARIATIONS := validation judged-on-test paper-pairs
# Of these, only the search is run.
SEARCHES := union union-code
variations: $(VENV)/installed  ## after make paper: run it with other choices
	$(foreach name,$(VARIATIONS),$(call run,tables --configfile workflow/variations/$(name).yaml))
	$(foreach name,$(SEARCHES),$(call run,searches --configfile workflow/variations/$(name).yaml))

restore: $(VENV)/installed  ## restore the published trials, all but the ladder and the portraits, for make paper
	$(BIN)/snap restore reports/paper

publish: $(VENV)/installed  ## copy the results of make paper to reports/ and quote them in the documents
	$(BIN)/snap report publish --folder results/paper --to reports/paper \
	  --variations $(VARIATIONS:%=results/%) $(SEARCHES:%=results/%) \
	  --paper workflow/paper.yaml --claims workflow/claims.yaml --documents README.md REPRODUCIBILITY.md

rulegraph: $(VENV)/installed  ## draw the rules for docs/changing.md (needs graphviz)
	$(SNAKEMAKE) --rulegraph | dot -Tsvg -o reports/rulegraph.svg

clean:  ## remove the environment and caches; data and results stay
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -prune -exec rm -rf {} +
