"""What all rules ask of a run, and the checks with which the Snakefile begins."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_src.common.errors import ConfigError
from workflow_src.dag.captures import Captures, captures_of
from workflow_src.dag.measured import Measured, Studies
from workflow_src.dag.paths import ROOT_FILES, Wildcards, known
from workflow_src.dag.report import Report
from workflow_src.plan.code import stage
from workflow_src.plan.config import read_config
from workflow_src.plan.suites import Plan, make_plan
from workflow_src.studies.study import STUDIES

RULES = ("hooks", "plan", "measure", "tables", "timeline", "answers", "studies", "compare")

ON_CLUSTER = 4
"""Python, autograd's thread, the profiler and what watches the GPU run side by side."""


@dataclass(frozen=True)
class Dag:
    """The plan as the rules see it."""

    plan: Plan
    studies: Studies
    measured: Measured
    report: Report
    captures: Captures

    @property
    def rules(self) -> tuple[str, ...]:
        """The files of rules: root files are of captures, if any, else of a suite."""
        return (*RULES, "captures" if self.captures.files else "report")

    def everything(self) -> list[str]:
        """The default targets."""
        return list(ROOT_FILES) if self.captures.files else self.report.everything()

    @property
    def measuring_threads(self) -> int:
        """Cores that a measurement takes: `cpu_threads` if the CPU itself is measured.

        A job of a cluster has no more than it requests.
        """
        if self.plan.settings["cluster"] and self.plan.device == "cuda":
            return ON_CLUSTER
        return self.plan.threads.get("cpu_threads", 1)

    def code(self, module: str | Callable[[Wildcards], str]) -> Callable[[Wildcards], str]:
        """A param function: the hash of a stage's `module`.

        That is its name below workflow_src, maybe with wildcards, or another param function. It
        raises ConfigError for a target of another run, which would be made with this run's
        settings: every rule has this param.
        """

        def of(wildcards: Wildcards) -> str:
            if isinstance(module, str):
                named = "workflow_src." + module.format(wildcards=wildcards)
            else:
                named = module(wildcards)
            if (tag := getattr(wildcards, "tag", self.plan.tag)) != self.plan.tag:
                is_suite = tag in self.plan.settings["suites"]
                settings = f"suite={tag}" if is_suite else f"tag={tag} suite=..."
                raise ConfigError(
                    f"tag: results/{tag}/ does not belong to this run, whose results are in "
                    f"{self.plan.results}/; to make it, add --config {settings}"
                )
            return stage(named)

        return of


def dag_of(plan: Plan) -> Dag:
    """The DAG of a plan."""
    settings, studies = plan.settings, Studies(plan)
    measured = Measured(plan, studies)
    captures = captures_of(settings["captures"], settings)
    return Dag(plan, studies, measured, Report(plan, studies, measured), captures)


def require_place(workflow: Any) -> None:
    """Exit with a sentence unless `workflow` runs in the project's folder."""
    if not Path(workflow.basedir).samefile(Path.cwd()):
        raise SystemExit(
            f"snakemake runs in {Path.cwd()}, but all paths are relative to the project's folder: "
            f"cd {workflow.basedir}, without -d and -s; results of separate runs have separate "
            "tags there"
        )


def refuse_login_node(workflow: Any, config: Mapping[str, Any], device: str) -> None:
    """Exit with a sentence if jobs run elsewhere, which only Snakemake 8 or later tells, but their
    device was looked for here.
    """
    looked_for = config.get("device", "auto") == "auto" and not config.get("cluster")
    if looked_for and device == "cpu" and not getattr(workflow, "local_exec", True):
        raise SystemExit(
            "config: device: 'auto' is the cpu on this machine, and jobs run on others: add "
            "cluster=true device=cuda profiler=nsys, as profiles/slurm/settings.yaml has them "
            "(--configfile replaces that file), or device=cpu"
        )


def keep_unfinished(persistence: Any) -> None:
    """Mark what was to be made again and wasn't, so that the next run makes it.

    Snakemake takes an output that a failed or interrupted job lost for one that nothing needs, if
    what was made from it before is there. persistence: Snakemake's.
    """
    for job in persistence.dag.needrun_jobs():
        if any(Path(str(file)).exists() for file in job.output):
            persistence.started(job)


def make_dag(config: Mapping[str, Any], files: Iterable[str] = ()) -> Dag:
    """The DAG of a configuration; bad input ends the program with one sentence."""
    try:
        for file in files:
            read_config(Path(file))
        dag = dag_of(make_plan(config))
        for name in dag.plan.settings["studies"]:
            known("studies", name, STUDIES)
    except ConfigError as error:
        raise SystemExit(f"config: {error}") from None
    return dag
