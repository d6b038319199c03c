# make test works on a machine with Python 3.11 or newer and make, and nothing else set up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SNAKEMAKE := PATH="$(CURDIR)/$(BIN):$$PATH" snakemake

.PHONY: help reproduce paper test test-slurm test-random test-kill lint format bench load variations restore publish clean rulegraph

help:  ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

# Made again when the pinned versions change. The stamp comes last: half an install does not count.
$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "$(PYTHON) is older than 3.11: try make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/snap compile
	@touch $@

# PROFILE=profiles/slurm runs it on a cluster. No shell in between, so that a signal to make reaches it.
define run
	@$(BIN)/python workflow/run.py $(1) $(if $(PROFILE),--workflow-profile $(PROFILE))
endef

reproduce: $(VENV)/installed  ## the whole paper, reduced: minutes
	$(call run,--configfile workflow/presets/quick.yaml)
	@echo "Done: open $(CURDIR)/results/quick/report.html"

paper: $(VENV)/installed  ## the whole paper: hours, resumable
	$(call run,)
	@echo "Done: open $(CURDIR)/results/paper/report.html"

test: $(VENV)/installed lint  ## run every test
	$(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile

test-slurm: $(VENV)/installed  ## run everything through a SLURM on this machine (as root)
	$(BIN)/pytest -m slurm --durations 0

test-random: $(VENV)/installed  ## try other generated examples, ten times as many
	HYPOTHESIS_PROFILE=random MORE_EXAMPLES=10 $(BIN)/pytest tests/test_bad_input.py tests/test_trial.py \
	  tests/test_paper_tables.py

KILLS ?= 20
test-kill: $(VENV)/installed  ## kill a run KILLS times and compare what comes of it
	$(BIN)/python tests/kill.py --kills $(KILLS)

lint: $(VENV)/installed  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(SNAKEMAKE) --lint

format: $(VENV)/installed  ## put the code into its standard form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed  ## measure the engines on this machine
	$(BIN)/snap bench

load: $(VENV)/installed  ## measure the workflow with 20 seeds
	$(BIN)/python tests/load.py

VARIATIONS := validation judged-on-test paper-pairs
variations: $(VENV)/installed  ## after make paper: what changes with choices that it made
	for name in $(VARIATIONS); do \
	  $(SNAKEMAKE) tables --configfile "workflow/variations/$$name.yaml" || exit; done

restore: $(VENV)/installed  ## start from the published results: make paper then trains what differs
	$(BIN)/snap restore reports/paper

publish: $(VENV)/installed  ## keep the results of make paper in reports/, and quote them
	$(BIN)/snap report publish --folder results/paper --to reports/paper \
	  --variations $(VARIATIONS:%=results/%) \
	  --paper workflow/paper.yaml --documents README.md REPRODUCIBILITY.md

rulegraph: $(VENV)/installed  ## draw the rules for the README (needs graphviz)
	$(SNAKEMAKE) --rulegraph | dot -Tsvg -o reports/rulegraph.svg

clean:  ## remove the environment and caches; data and results stay
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -prune -exec rm -rf {} +
