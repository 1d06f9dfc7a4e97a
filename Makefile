# make report   set up .venv and run the workflow with config.yaml
# make test     set up what tests need and run them all
# make check    ruff, mypy, snakefmt and snakemake --lint
PYTHON ?= python3
CORES ?= 1
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
RULES := Snakefile rules/*.smk

.PHONY: report test check format unlock clean

report: .venv/installed
	snakemake --cores $(CORES) report.md

test: .venv/installed-dev
	python -m pytest

check: .venv/installed-dev
	ruff check .
	ruff format --check .
	mypy
	snakefmt --check $(RULES)
	snakemake --lint

format: .venv/installed-dev
	ruff check --fix .
	ruff format .
	snakefmt $(RULES)

unlock: .venv/installed
	snakemake --unlock

clean:
	rm -rf .venv .snakemake

.venv/installed: requirements.txt
	$(PYTHON) -m venv .venv
	tools/install_torch $(BIN)/pip
	$(BIN)/pip install -r requirements.txt
	touch $@

.venv/installed-dev: .venv/installed requirements-dev.txt
	$(BIN)/pip install -r requirements-dev.txt
	touch $@
