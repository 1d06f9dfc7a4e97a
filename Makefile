# make report   set up .venv and run the workflow with config.yaml
# make test     set up what the tests need and run them all
# make check    run ruff, mypy, snakefmt, snakemake --lint and the import contracts
# make .venv7/installed    set up a separate environment with Snakemake 7.32.4, for its tests
PYTHON ?= python3
CORES ?= 1
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
RULES := Snakefile rules/*.smk

.PHONY: report test check format assemble rewrite unlock clean

report: .venv/installed
	snakemake --cores $(CORES)

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

# Combine results from other machines without measuring: needs only plan.csv and the cases' tables
# under results/{tag}/. make assemble CONFIG="suite=assignment"
RENDER := answer figure study_section report
assemble: .venv/installed
	snakemake --cores $(CORES) report.md --allowed-rules environment join study_table $(RENDER) \
		--config $(CONFIG)

# Regenerate a report from only its plan.csv and joined tables, such as those in examples/h200.
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

# The last Snakemake with a built-in --cluster; all other libraries are the same.
.venv7/installed: requirements.txt requirements-snakemake7.txt
	$(PYTHON) -m venv .venv7
	tools/install_torch .venv7/bin/pip
	grep -v '^snakemake==' requirements.txt | \
		.venv7/bin/pip install -r /dev/stdin -r requirements-snakemake7.txt
	touch $@

.venv/installed-dev: .venv/installed requirements-dev.txt
	$(BIN)/pip install -r requirements-dev.txt
	touch $@
