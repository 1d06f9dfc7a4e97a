# make report   set up .venv and run the workflow with config.yaml
# make test     set up what tests need and run them all
# make check    ruff, mypy, snakefmt, snakemake --lint and the import contracts
# make .venv7/installed    Snakemake 7.32.4 in an environment of its own, for its tests
PYTHON ?= python3
CORES ?= 1
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
RULES := Snakefile rules/*.smk

.PHONY: report test check format assemble rewrite unlock clean

report: .venv/installed
	snakemake --cores $(CORES) report.md

test: .venv/installed-dev
	python -m pytest

check: .venv/installed-dev
	ruff check .
	ruff format --check .
	mypy
	snakefmt --check $(RULES)
	tools/lint
	lint-imports --no-logo

format: .venv/installed-dev
	ruff check --fix .
	ruff format .
	snakefmt $(RULES)

# Put results from elsewhere together: plan.csv and the cases' tables under results/{tag}/ are
# enough, and nothing is measured. make assemble CONFIG="suite=assignment"
RENDER := answer figure study_section report
assemble: .venv/installed
	snakemake --cores $(CORES) report.md --allowed-rules join study_table $(RENDER) \
		--config $(CONFIG)

# Write a report again from its plan.csv and joined tables alone, as examples/h200 has them.
rewrite: .venv/installed
	snakemake --cores $(CORES) report.md --allowed-rules $(RENDER) --config $(CONFIG)

unlock: .venv/installed
	snakemake --unlock

clean:
	rm -rf .venv .venv7 .snakemake

.venv/installed: requirements.txt
	$(PYTHON) -m venv .venv
	tools/install_torch $(BIN)/pip
	$(BIN)/pip install -r requirements.txt
	touch $@

# The last Snakemake whose --cluster is built in, with the same libraries around it.
.venv7/installed: requirements.txt requirements-snakemake7.txt
	$(PYTHON) -m venv .venv7
	tools/install_torch .venv7/bin/pip
	grep -v '^snakemake==' requirements.txt | \
		.venv7/bin/pip install -r /dev/stdin -r requirements-snakemake7.txt
	touch $@

.venv/installed-dev: .venv/installed requirements-dev.txt
	$(BIN)/pip install -r requirements-dev.txt
	touch $@
