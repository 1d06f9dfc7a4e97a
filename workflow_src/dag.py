"""What the rules ask for: inputs, params and resources from the plan, and code fingerprints.

Imports neither torch nor pandas, because it runs whenever snakemake does.
"""

import hashlib
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from workflow_src.answers.questions import FIGURES, QUESTIONS, REPORT_TABLES
from workflow_src.common.case import Case
from workflow_src.plan import resources
from workflow_src.plan.config import ConfigError, one_of, read_yaml
from workflow_src.plan.drift import MEASURE_AGAIN, drift, here
from workflow_src.plan.kept import kept_fingerprint
from workflow_src.plan.suites import Plan, make_plan
from workflow_src.plan.targets import unknown_case
from workflow_src.plan.unfinished import lost
from workflow_src.studies.study import JUDGED, STUDIES, Point

TEMPLATES = Path("report_templates")

PAGE = [f"{TEMPLATES}/report.{kind}" for kind in ("html.j2", "css", "js")]
"""The templates of every HTML page."""

ANSWER_FILES = ("json", "md", "appendix.md")

GO_ON = "Finished files are kept; run the same command again to go on."
"""What a run that ends with an error or is interrupted says last."""

COMPARED = ("tables/*.csv", "plan.csv", "benchmark/*.json")
"""What a comparison reads of a run."""

STUDY_MEMORY_MIB = 16384
STUDY_MINUTES = 30


def answer_templates(*questions: str) -> list[str]:
    """The templates of some questions, with those that all questions share.

    A question without long tables has no template for the appendix.
    """
    shared = sorted(str(path) for path in TEMPLATES.glob("_*.md.j2"))
    answers = [f"{TEMPLATES}/answer_{question}.md.j2" for question in questions]
    appendices = [TEMPLATES / f"appendix_{question}.md.j2" for question in questions]
    return [*shared, *answers, *(str(path) for path in appendices if path.exists())]


class Wildcards(Protocol):
    """Snakemake's wildcards; which ones exist depends on the rule."""

    tag: str
    case: str
    question: str
    figure: str
    study: str
    point: str
    part: str
    run_a: str
    run_b: str


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
        """The resolved settings as JSON, from which plan.csv is made."""
        return json.dumps(dict(self.plan.settings))

    @property
    def measuring_threads(self) -> int:
        """Cores that a measurement takes: all of them if the CPU itself is measured."""
        return self.plan.threads.get("cpu_threads", 1)

    def code(self, module: str) -> Callable[[Wildcards], str]:
        """A param function: the fingerprint of a stage's `module`, which may contain wildcards.

        It raises ConfigError for a target of another run, which would be made with this run's
        settings. Every rule has this param, so the check is here.
        """

        def of(wildcards: Wildcards) -> str:
            self._refuse_other_runs(getattr(wildcards, "tag", self.plan.tag))
            return kept_fingerprint("workflow_src." + module.format(wildcards=wildcards))

        return of

    def _refuse_other_runs(self, tag: str) -> None:
        if tag == self.plan.tag:
            return
        settings = f"suite={tag}" if tag in self.plan.settings["suites"] else f"tag={tag} suite=..."
        raise ConfigError(
            f"tag: results/{tag}/ does not belong to this run, whose results are in "
            f"{self.results}/; to make it, add --config {settings}"
        )

    def benchmark_row(self, wildcards: Wildcards) -> str:
        """The plan row that a benchmark depends on, as JSON."""
        return json.dumps(self.plan.benchmark_row(wildcards.case))

    def benchmark_module(self, wildcards: Wildcards) -> str:
        """The module that benchmarks a case in as many processes as its row says."""
        several = self.plan.benchmark_row(wildcards.case)["processes"] > 1
        return f"workflow_src.measure.benchmark{'_processes' if several else ''}"

    def benchmark_code(self, wildcards: Wildcards) -> str:
        """The fingerprint of the module that benchmarks a case, as a param."""
        module = self.benchmark_module(wildcards).removeprefix("workflow_src.")
        return self.code(module)(wildcards)

    def capture_row(self, wildcards: Wildcards) -> str:
        """The plan row that a capture depends on, as JSON."""
        return json.dumps(self.plan.capture_row(wildcards.case))

    def case_memory_mb(self, wildcards: Wildcards, attempt: int) -> int:
        """Memory (MiB) to request from a cluster for measuring a case; grows with each attempt."""
        return attempt * resources.memory_mib(self._case(wildcards))

    def case_minutes(self, wildcards: Wildcards, attempt: int) -> int:
        """Minutes to request from a cluster for measuring a case; grows with each attempt."""
        steps = resources.case_steps(self.plan.settings, self.plan.device)
        return attempt * resources.minutes(self._case(wildcards), steps)

    def _case(self, wildcards: Wildcards) -> Case:
        return Case.from_dict(self.plan.benchmark_row(wildcards.case))

    def study_memory_mb(self, wildcards: Wildcards, attempt: int) -> int:
        """Memory (MiB) to request from a cluster for a study's point; grows with each attempt."""
        return attempt * STUDY_MEMORY_MIB

    def study_minutes(self, wildcards: Wildcards, attempt: int) -> int:
        """Minutes to request from a cluster for a study's point; grows with each attempt."""
        return attempt * STUDY_MINUTES

    def flag(self, setting: str) -> str:
        """The command-line flag of a setting that is on, or an empty string."""
        return "--" + setting.replace("_", "-") if self.plan.settings[setting] else ""

    @staticmethod
    def output_folder(wildcards: Wildcards, output: Sequence[str]) -> str:
        """The folder of a rule's outputs, as a param."""
        return str(Path(output[0]).parent)

    @staticmethod
    def compared_runs(wildcards: Wildcards) -> list[str]:
        """A hash of each of two compared runs: of its tables, its plan and its raw samples."""
        return [_content(Path(run)) for run in (wildcards.run_a, wildcards.run_b)]

    @staticmethod
    def input_folder(wildcards: Wildcards, input: Sequence[str]) -> str:
        """The folder of a rule's first input, as a param."""
        return str(Path(input[0]).parent)

    def tables(self, names: Iterable[str]) -> list[str]:
        """Paths of joined tables, with {tag} left as a wildcard."""
        return [f"results/{{tag}}/tables/{name}.csv" for name in names]

    def answer_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The inputs of a question's answer. Raises ConfigError for an unknown question."""
        question = known("question", wildcards.question, QUESTIONS)
        asked, chosen = QUESTIONS[question], self.studies()
        names = [*asked.tables, *(f"studies/{name}" for name in asked.studies if name in chosen)]
        tables = [f"results/{wildcards.tag}/tables/{name}.csv" for name in names]
        found = {"tables": tables, "templates": answer_templates(question)}
        return found | (
            {"ceilings": self.ceilings_inputs()} if "ceilings" in asked.optional else {}
        )

    def case_answers_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The inputs of the answers for one case: that case's own tables."""
        names = dict.fromkeys(name for asked in QUESTIONS.values() for name in asked.tables)
        folder = f"results/{wildcards.tag}/tables/{wildcards.case}"
        templates = [f"{TEMPLATES}/case.md.j2", *answer_templates(*QUESTIONS)]
        return {"tables": [f"{folder}/{name}.csv" for name in names], "templates": templates}

    @property
    def answers_code(self) -> list[str]:
        """The fingerprints of the modules that answer all questions."""
        return [
            kept_fingerprint(f"workflow_src.answers.{asked.module}") for asked in QUESTIONS.values()
        ]

    def answer_module(self, wildcards: Wildcards) -> str:
        """The module that answers a question, as a param."""
        question = known("question", wildcards.question, QUESTIONS)
        return f"workflow_src.answers.{QUESTIONS[question].module}"

    def answer_code(self, wildcards: Wildcards) -> str:
        """The fingerprint of the module that answers a question, as a param."""
        module = self.answer_module(wildcards).removeprefix("workflow_src.")
        return self.code(module)(wildcards)

    def ceilings_point(self, wildcards: Wildcards) -> str:
        """What to measure of the ceilings of this run's machine, as JSON."""
        return json.dumps(self.plan.ceilings_point())

    def ceilings_memory_mb(self, wildcards: Wildcards, attempt: int) -> int:
        """Memory (MiB) to request from a cluster for the ceilings; grows with each attempt."""
        return attempt * resources.FIXED_MIB[self.plan.device]

    def ceilings_minutes(self, wildcards: Wildcards, attempt: int) -> int:
        """Minutes to request from a cluster for the ceilings; grows with each attempt."""
        return attempt * resources.FIXED_MINUTES

    def ceilings_inputs(self) -> list[str]:
        """The table of ceilings, if it's there or may be made.

        Runs measured before there was one are rewritten and assembled without it.
        """
        table = f"{self.results}/tables/ceilings.csv"
        return [table] if measures("ceilings") or Path(table).is_file() else []

    def figure_inputs(self, wildcards: Wildcards) -> list[str]:
        """The tables that a figure is drawn from. Raises ConfigError for an unknown figure."""
        return self.tables(FIGURES[known("figure", wildcards.figure, FIGURES)])

    def report_inputs(self) -> dict[str, list[str]]:
        """The inputs of the report."""
        timelines = [f"{self.results}/timelines/{case}.svg" for case in self.shown_timelines()]
        here = {
            "tables": [path.format(tag=self.plan.tag) for path in self.tables(REPORT_TABLES)],
            "answers": [f"{self.results}/answers/{q}.{s}" for q in QUESTIONS for s in ANSWER_FILES],
            "figures": [f"{self.results}/figures/{name}.svg" for name in FIGURES],
        }
        names = ("report.md", "appendix.md", "evidence.html", "cases.html", "points.html")
        templates = [*(f"{TEMPLATES}/{name}.j2" for name in names), *PAGE]
        plan = [f"{self.results}/plan.csv"]
        folder = f"{self.results}/sections"
        studies = {
            "sections": self.sections(),
            "section_appendices": [f"{folder}/{name}.appendix.md" for name in self.studies()],
            "section_numbers": [f"{folder}/{name}.json" for name in self.studies()],
            "study_tables": [f"{self.results}/tables/studies/{n}.csv" for n in self.studies()],
        }
        others = {"templates": templates, "plan": plan, "timelines": timelines}
        return here | others | {"ceilings": self.ceilings_inputs()} | studies

    def shown_timelines(self) -> list[str]:
        """The cases whose timelines are part of the report: the first and the last of the plan.

        Left out where a case's tables are there, its own or joined, and its capture isn't, as in a
        published run: a report made again from tables measures nothing.
        """
        cases = self.cases_to_join()
        return [case for case in dict.fromkeys((cases[0], cases[-1])) if self._has_timeline(case)]

    def _has_timeline(self, case: str) -> bool:
        capture = Path(self.results, "capture", case + self.plan.capture_suffix)
        export = Path(self.results, "export", case)
        return capture.is_file() or export.is_dir() or not self._tabulated(case)

    def _tabulated(self, case: str) -> bool:
        tables = Path(self.results, "tables")
        joined = tables / "captures.csv"
        # Not kernels.csv, which has no rows of a case that ran out of memory.
        lines = joined.read_bytes().splitlines() if joined.is_file() else []
        return (tables / case).is_dir() or any(
            line.startswith(f"{case},".encode()) for line in lines
        )

    def everything(self) -> list[str]:
        """All that the report consists of: the default targets."""
        inputs = self.report_inputs()
        drawn = [f"{self.results}/figures/study_{name}.svg" for name in self.studies()]
        parts = ("tables", "answers", "figures", "timelines", "sections", "section_appendices")
        made = [path for part in (*parts, "ceilings") for path in inputs[part]]
        return ["report.md", "report.html", f"{self.results}/appendix.md", *made, *drawn]

    def points(self, study: str) -> dict[str, Point]:
        """The points of a study by id.

        Raises ConfigError for an unknown study, or one that measures no configured size.
        """
        name = known("study", study, STUDIES)
        # Imported by name: only the chosen studies are loaded, and a new one needs no import here.
        module = importlib.import_module(f"workflow_src.studies.{name}.points")
        scale = self.plan.settings["study_scale"]
        if scale == "auto":
            scale = "full" if self.plan.device == "cuda" else "small"
        found = module.points(self.plan.device, scale, self.plan.settings)
        if not found:
            sizes = ", ".join(self.plan.settings["sizes"])
            raise ConfigError(f"studies: {name!r} measures none of the configured sizes ({sizes})")
        limit = {"memory_limit_gib": self.plan.settings["memory_limit_gib"]}
        about = {"device": self.plan.device, **self.plan.threads, **limit}
        return {point["point"]: point | about for point in found}

    def study_point(self, wildcards: Wildcards) -> str:
        """A study's point as JSON. Raises ConfigError for an unknown one."""
        points = self.points(wildcards.study)
        return json.dumps(points[known(f"point of {wildcards.study}", wildcards.point, points)])

    def study_points(self, wildcards: Wildcards) -> list[str]:
        """Paths of a study's measured points."""
        return self._point_files(wildcards.study)

    def study_predictions(self, wildcards: Wildcards) -> list[str]:
        """Paths of what a study predicts before it measures: of levers, a file per case."""
        if wildcards.study != "levers":
            return []
        cases = dict.fromkeys(point["case"] for point in self.points("levers").values())
        return [f"results/{{tag}}/predictions/levers/{case}.csv" for case in cases]

    @staticmethod
    def study_templates(wildcards: Wildcards) -> list[str]:
        """The templates of a study's section and, if it has long tables, of its appendix."""
        section, appendix = (
            TEMPLATES / "studies" / f"{wildcards.study}{part}.md.j2" for part in ("", ".appendix")
        )
        return [str(section), *([str(appendix)] if appendix.is_file() else [])]

    def section_ceilings(self, wildcards: Wildcards) -> list[str]:
        """The run's ceilings, for the section of a study that is held against them."""
        return self.ceilings_inputs() if wildcards.study in JUDGED else []

    def _point_files(self, study: str) -> list[str]:
        return [f"results/{{tag}}/studies/{study}/{point}.json" for point in self.points(study)]

    def measured_environments(self, wildcards: Wildcards) -> list[str]:
        """The files that hold the environments of the cases or of a study's points."""
        if wildcards.part != "cases":
            return self._point_files(wildcards.part)
        cases = self.cases_to_join()
        return [f"results/{{tag}}/tables/{case}/environments.csv" for case in cases]

    def measurements(self) -> list[Path]:
        """All files that this run measures."""
        cases = [
            Path(self.results, folder, case + suffix)
            for case in self.plan.case_ids
            for folder, suffix in (("benchmark", ".json"), ("capture", self.plan.capture_suffix))
        ]
        points = [file for study in self.studies() for file in self._point_files(study)]
        points += [f"{self.results}/ceilings.json"]
        return cases + [Path(file.format(tag=self.plan.tag)) for file in points]

    def drift(self, remade: Iterable[Path] = ()) -> str:
        """How this machine differs from the one that measured what is here; "" if it doesn't.

        `remade` is left out. On a cluster, where the measuring machines are others, environments
        are compared after measuring.
        """
        settings = self.plan.settings
        kept = set(self.measurements()).difference(remade)
        there = sorted(path for path in kept if path.is_file())
        if settings["cluster"] or settings["mixed_environments"] or not there:
            return ""
        return drift(there, here(self.plan.device))

    def refuse_drift(self, outputs: Iterable[str]) -> None:
        """Exit with a sentence if making `outputs` would measure beside results that differ."""
        made = {Path(str(output)) for output in outputs}
        if made.intersection(self.measurements()) and (found := self.drift(made)):
            raise SystemExit(
                f"config: {self.results}/ can't be added to. {found}. Measure all of it again by "
                f"adding {MEASURE_AGAIN} to the same command, or keep it and measure the rest "
                "under another tag (--config tag=...)"
            )

    def studies(self) -> list[str]:
        """The chosen studies, in the report's order."""
        return [name for name in STUDIES if name in self.plan.settings["studies"]]

    def sections(self) -> list[str]:
        """The sections of the chosen studies."""
        return [f"{self.results}/sections/{name}.md" for name in self.studies()]

    def _measured(self, case_id: str) -> bool:
        benchmark = Path(self.results, "benchmark", f"{case_id}.json")
        capture = Path(self.results, "capture", case_id + self.plan.capture_suffix)
        return benchmark.is_file() and capture.is_file()

    def cases_to_join(self) -> list[str]:
        """All planned cases; with allow_missing, only the measured ones.

        Raises ConfigError if allow_missing is on and no case is measured.
        """
        if not self.plan.settings["allow_missing"]:
            return self.plan.case_ids
        found = [case_id for case_id in self.plan.case_ids if self._measured(case_id)]
        if not found:
            raise ConfigError(
                "allow_missing: True, but no case is measured yet; measure some without it first"
            )
        return found


def _content(run: Path) -> str:
    """A hash of all that a comparison reads of a run."""
    digest = hashlib.sha256()
    found = (path for part in COMPARED for path in run.glob(part) if path.is_file())
    for path in sorted(found):
        digest.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def measures(rule: str) -> bool:
    """Whether this call of snakemake may run a rule: all may, unless --allowed-rules says which."""
    options = [word.partition("=")[0] for word in sys.argv]
    return "--allowed-rules" not in options or rule in sys.argv


def known(key: str, value: str, allowed: Iterable[str]) -> str:
    """`value` if it is one of `allowed`. Raises ConfigError, which lists them, if not."""
    names = list(allowed)
    if value not in names:
        raise ConfigError(one_of(key, value, names))
    return value


def require_project_folder(folder: str) -> None:
    """Exit with a sentence if snakemake doesn't run in `folder`, the base of all paths."""
    if not Path(folder).samefile(Path.cwd()):
        raise SystemExit(
            f"snakemake runs in {Path.cwd()}, but all paths are relative to the project's folder: "
            f"cd {folder}, without -d and -s; results of separate runs have separate tags there"
        )


def make_dag(config: Mapping[str, Any], files: Iterable[str] = ()) -> Dag:
    """The DAG of a configuration; invalid input ends the program with one sentence."""
    try:
        for file in files:
            read_yaml(Path(file))
        plan = make_plan(config)
        for name in plan.settings["studies"]:
            known("studies", name, STUDIES)
        dag = Dag(plan)
        dag.cases_to_join()
        if wrong := unknown_case(sys.argv, plan.tag, plan.case_ids):
            raise ConfigError(wrong)
        if found := dag.drift():
            print(f"note: {dag.results}/ is kept as it is. {found}.", file=sys.stderr)
        if found := lost(dag.results):
            print(f"note: {found}.", file=sys.stderr)
        return dag
    except ConfigError as error:
        raise SystemExit(f"config: {error}") from None


def readable(path: str) -> str:
    """`path`, if YAML can be read from it; else the program ends with one sentence.

    Snakemake's own message for a file that isn't UTF-8 is a traceback.
    """
    try:
        read_yaml(Path(path))
    except ConfigError as error:
        raise SystemExit(f"config: {error}") from None
    return path
