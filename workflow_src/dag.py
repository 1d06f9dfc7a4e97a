"""What the rules ask of the plan: params, inputs that depend on it, and the state of the code."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from workflow_src.answers.questions import FIGURES, QUESTIONS, REPORT_TABLES
from workflow_src.common.case import Case
from workflow_src.plan import resources as requests
from workflow_src.plan.config import ConfigError, one_of
from workflow_src.plan.fingerprint import fingerprint
from workflow_src.plan.suites import Plan, make_plan
from workflow_src.studies.study import STUDIES, load_study, measuring_modules, point_row

TEMPLATES = Path("report_templates")

STUDY_MEMORY_MIB = 16384
STUDY_MINUTES = 30


class HasCase(Protocol):
    """Snakemake's wildcards of a rule about one case."""

    case: str


class HasFigure(Protocol):
    """Snakemake's wildcards of a rule about one figure."""

    figure: str


class HasStudy(Protocol):
    """Snakemake's wildcards of a rule about one study."""

    study: str


class HasPoint(HasStudy, Protocol):
    """Snakemake's wildcards of a rule about one point of a study."""

    point: str


@dataclass(frozen=True)
class Dag:
    """The plan as the rules see it."""

    plan: Plan

    @property
    def results(self) -> str:
        """The folder of this run's results."""
        return f"results/{self.plan.tag}"

    @property
    def settings(self) -> str:
        """The resolved settings as JSON: what plan.csv is made from."""
        return json.dumps(dict(self.plan.settings))

    @property
    def measuring_threads(self) -> int:
        """Cores that a measurement takes: all of them where the CPU is what is measured."""
        return (os.cpu_count() or 1) if self.plan.device == "cpu" else 1

    def benchmark_row(self, wildcards: HasCase) -> str:
        """The plan row that a benchmark depends on, as JSON."""
        return json.dumps(self.plan.benchmark_row(wildcards.case))

    def capture_row(self, wildcards: HasCase) -> str:
        """The plan row that a capture depends on, as JSON."""
        return json.dumps(self.plan.capture_row(wildcards.case))

    def case_memory_mb(self, wildcards: HasCase, attempt: int) -> int:
        """Memory that measuring a case asks a cluster for; more after each failure."""
        return attempt * requests.memory_mib(self._case(wildcards))

    def case_minutes(self, wildcards: HasCase, attempt: int) -> int:
        """Time that measuring a case asks a cluster for; more after each failure."""
        settings = self.plan.settings
        steps = settings["warmup_steps"] + max(settings["steps"], settings["capture_steps"])
        return attempt * requests.minutes(self._case(wildcards), steps)

    def _case(self, wildcards: HasCase) -> Case:
        return Case.from_dict(self.plan.benchmark_row(wildcards.case))

    def study_memory_mb(self, wildcards: HasPoint, attempt: int) -> int:
        """Memory that a study's point asks a cluster for; more after each failure."""
        return attempt * STUDY_MEMORY_MIB

    def study_minutes(self, wildcards: HasPoint, attempt: int) -> int:
        """Time that a study's point asks a cluster for; more after each failure."""
        return attempt * STUDY_MINUTES

    def flag(self, setting: str) -> str:
        """The command-line flag of a setting that is on, or nothing."""
        return "--" + setting.replace("_", "-") if self.plan.settings[setting] else ""

    @staticmethod
    def output_folder(wildcards: object, output: Sequence[str]) -> str:
        """The folder of a rule's outputs, as a param."""
        return str(Path(output[0]).parent)

    @staticmethod
    def input_folder(wildcards: object, input: Sequence[str]) -> str:
        """The folder of a rule's first input, as a param."""
        return str(Path(input[0]).parent)

    def tables(self, names: Iterable[str]) -> list[str]:
        """Paths of joined tables, for a rule whose outputs have the wildcard tag."""
        return [f"results/{{tag}}/tables/{name}.csv" for name in names]

    def answer_inputs(self, question: str) -> dict[str, list[str]]:
        """What the answer to a question is made from."""
        shared = sorted(str(path) for path in TEMPLATES.glob("_*.md.j2"))
        templates = [*shared, f"{TEMPLATES}/answer_{question}.md.j2"]
        return {"tables": self.tables(QUESTIONS[question].tables), "templates": templates}

    def answer_code(self, question: str) -> str:
        """Fingerprint of the code that answers a question, whose module is loaded by name."""
        module = f"workflow_src.answers.{QUESTIONS[question].module}"
        return fingerprint("workflow_src.answers.__main__", module)

    def figure_inputs(self, wildcards: HasFigure) -> list[str]:
        """The tables that a figure is drawn from. Raises ConfigError for an unknown figure."""
        if wildcards.figure not in FIGURES:
            raise ConfigError(one_of("figure", wildcards.figure, FIGURES))
        return self.tables(FIGURES[wildcards.figure])

    def report_inputs(self) -> dict[str, list[str]]:
        """What the report is made from."""
        here = {
            "tables": [path.format(tag=self.plan.tag) for path in self.tables(REPORT_TABLES)],
            "answers": [
                f"{self.results}/answers/{q}.{s}" for q in QUESTIONS for s in ("json", "md")
            ],
            "figures": [f"{self.results}/figures/{name}.svg" for name in FIGURES],
        }
        templates = sorted(str(path) for path in TEMPLATES.glob("*.j2"))
        return here | {"templates": templates, "sections": self.sections()}

    def _scale(self) -> str:
        scale: str = self.plan.settings["study_scale"]
        return scale if scale != "auto" else "full" if self.plan.device == "cuda" else "small"

    def study_point(self, wildcards: HasPoint) -> str:
        """The point that a study's measurement depends on, as JSON."""
        scale = self._scale()
        row = point_row(wildcards.study, wildcards.point, self.plan.device, scale)
        return json.dumps(row)

    def study_points(self, wildcards: HasStudy) -> list[str]:
        """The measured points of a study."""
        points = load_study(wildcards.study).points(self.plan.device, self._scale())
        folder = f"results/{{tag}}/studies/{wildcards.study}"
        return [f"{folder}/{point['point']}.json" for point in points]

    def study_code(self, wildcards: HasStudy) -> str:
        """Fingerprint of the code that measures a study, not of what tells of it."""
        return fingerprint("workflow_src.studies.run_point", *measuring_modules(wildcards.study))

    def study_section_code(self, wildcards: HasStudy) -> str:
        """Fingerprint of the code that writes a study's section."""
        return fingerprint(
            "workflow_src.studies.section", f"workflow_src.studies.{wildcards.study}.analyze"
        )

    def sections(self) -> list[str]:
        """The sections of the chosen studies, in the report's order."""
        chosen = self.plan.settings["studies"]
        return [f"{self.results}/sections/{name}.md" for name in STUDIES if name in chosen]

    def _measured(self, case_id: str) -> bool:
        benchmark = Path(self.results, "benchmark", f"{case_id}.json")
        capture = Path(self.results, "capture", case_id + self.plan.capture_suffix)
        return benchmark.is_file() and capture.is_file()

    def cases_to_join(self) -> list[str]:
        """All planned cases; with allow_missing only those whose measurements are there."""
        if not self.plan.settings["allow_missing"]:
            return self.plan.case_ids
        found = [case_id for case_id in self.plan.case_ids if self._measured(case_id)]
        if not found:
            raise ConfigError("allow_missing: True, but not one case is measured yet")
        return found


def make_dag(config: Mapping[str, Any]) -> Dag:
    """The DAG of a configuration; bad input ends the program with one sentence."""
    try:
        return Dag(make_plan(config))
    except ConfigError as error:
        raise SystemExit(f"config: {error}") from None
