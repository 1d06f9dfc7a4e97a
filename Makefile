# make report   set up .venv and run the workflow with config.yaml
# make check-model FILE=my_model.py:make    run one step of each phase of a model of one's own: seconds
# make test     set up what the tests need and run them; it ends with what was skipped, and why
# make check    run ruff, mypy, snakefmt, snakemake --lint and the import contracts
# make compare A=results/x B=examples/h200    compare run B with run A, and say which is slower
# make trend RUNS='results/x results/y'     show how steps changed over runs, and what changed then
# make status   say what is measured, stale or failed, and what would run; CONFIG="suite=assignment"
# make lock     renew locks/ after a change of requirements*.txt; LOCK=--upgrade takes newer versions too
# make .venv/installed-slurm TORCH=cuda    set up .venv on a login node
# make .venv7/installed    set up a separate environment with Snakemake 7.32.4, for its tests
PYTHON ?= python3
CORES ?= 1
# One more than there are cores, because some tests mostly wait, for Slurm above all.
WORKERS ?= $(shell expr $$(nproc) + 1)
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
RULES := Snakefile rules/*.smk
# Only what locks/ names, with its hash; packages published as source are built with locks/build.txt.
INSTALL := pip install --require-hashes --no-build-isolation

# What only reads results, or frees them, never installs into an environment that jobs may be using.
THERE := $(if $(wildcard .venv/installed),,.venv/installed)

.PHONY: report check-model status test check compare trend lock format assemble rewrite unlock clean

# What jobs print is in their logs; of a failed one it is printed, too.
report: .venv/installed
	@snakemake --cores $(CORES) --quiet host reason $(if $(CONFIG),--config $(CONFIG)) > /dev/null

check-model: .venv/installed
	@python -m workflow_src.cli.check_model --config workload=$(FILE) $(CONFIG)

status: $(THERE)
	python -m workflow_src.cli.status $(if $(CONFIG),--config $(CONFIG))

test: .venv/installed-dev
	python -m pytest -n $(WORKERS) --maxprocesses 8

check: .venv/installed-dev
	tools/lock --check
	ruff check .
	ruff format --check .
	mypy
	snakefmt --check $(RULES)
	tools/lint
	lint-imports --no-logo

lock: .venv/installed-dev
	tools/lock $(LOCK)

format: .venv/installed-dev
	ruff check --fix .
	ruff format .
	snakefmt $(RULES)

# Combine results from other machines without measuring: needs only plan.csv and the cases' tables
# under results/{tag}/ (docs/running.md). make assemble CONFIG="suite=assignment"
RENDER := answer opening front study_section appendix report timeline
assemble: $(THERE)
	snakemake --cores $(CORES) report.md --allowed-rules environment join findings remedies study_table $(RENDER) \
		--config $(CONFIG)

# Regenerate a report from only its plan.csv and joined tables, such as those in examples/h200.
rewrite: $(THERE)
	snakemake --cores $(CORES) report.md --allowed-rules $(RENDER) --config $(CONFIG)

# Ends with the verdict: Error 1 (B is slower), 2 (can't be compared) or 3 (can't tell); make's own
# status is then 2. Snakemake ends with 1 whatever failed, which would mean "slower".
COMPARED = results/compare/$(A:/=)/with/$(B:/=)
compare: $(THERE)
	@test -n "$(A)" -a -n "$(B)" || { echo "make compare A=results/x B=examples/h200"; exit 2; }
	snakemake --cores $(CORES) $(COMPARED)/compare.md || exit 2
	python -m workflow_src.compare.gate --comparison $(COMPARED)/compare.json

# Runs, or captures that were read, oldest first. What has no summary.json, as a run without a report, gets one.
trend: $(THERE)
	@test -n "$(RUNS)" || { echo "make trend RUNS='results/a results/b'"; exit 2; }
	@for run in $(RUNS); do test -e $$run/summary.json -o ! -d $$run/tables \
		|| python -m workflow_src.answers.summary --run $$run || exit 2; done
	python -m workflow_src.compare.trend $(RUNS) --output results/trend

# After snakemake was killed: cancel the Slurm jobs that it left, then remove its lock.
unlock: $(THERE)
	tools/cancel_slurm_jobs
	snakemake --unlock

clean:
	rm -rf .venv .venv7 .snakemake .published report.md report.html

TORCH_LOCKS := locks/build.txt locks/torch-cpu.txt locks/torch-cuda.txt

.venv/installed: $(TORCH_LOCKS) locks/workflow.txt
	$(PYTHON) -m venv .venv
	$(BIN)/$(INSTALL) -r locks/build.txt
	tools/install_torch $(BIN)/pip
	$(BIN)/$(INSTALL) -r locks/workflow.txt
	touch $@

# The last Snakemake with a built-in --cluster; all other libraries are the same.
.venv7/installed: $(TORCH_LOCKS) locks/snakemake7.txt
	$(PYTHON) -m venv .venv7
	.venv7/bin/$(INSTALL) -r locks/build.txt
	tools/install_torch .venv7/bin/pip
	.venv7/bin/$(INSTALL) -r locks/snakemake7.txt
	touch $@

.venv/installed-slurm: .venv/installed locks/slurm.txt
	$(BIN)/$(INSTALL) -r locks/slurm.txt
	touch $@

.venv/installed-dev: .venv/installed locks/slurm.txt locks/dev.txt
	$(BIN)/$(INSTALL) -r locks/dev.txt
	touch $@
