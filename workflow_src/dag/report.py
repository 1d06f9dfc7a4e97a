"""The report: what it and its figures are made from, and all that belongs to it."""

from dataclasses import dataclass

from workflow_src.answers.questions import FIGURES, QUESTIONS, REPORT_TABLES
from workflow_src.dag.ceilings import Ceilings
from workflow_src.dag.paths import PAGE, TEMPLATES, results_of
from workflow_src.dag.studies import Studies
from workflow_src.dag.timelines import Timelines
from workflow_src.dag.wildcards import Wildcards, known
from workflow_src.plan.suites import Plan

ANSWER_FILES = ("json", "md", "appendix.md")

TEXTS = ("report.md", "appendix.md", "evidence.html", "cases.html", "points.html")
"""The report's own templates, beside those of every page."""

MADE = ("tables", "answers", "figures", "timelines", "sections", "section_appendices", "ceilings")
"""The inputs of the report that are results to look at, too."""


@dataclass(frozen=True)
class Report:
    """The report of a plan."""

    plan: Plan
    ceilings: Ceilings
    studies: Studies
    timelines: Timelines

    def figure_inputs(self, wildcards: Wildcards) -> list[str]:
        """The tables that a figure is drawn from. Raises ConfigError for an unknown figure."""
        names = FIGURES[known("figure", wildcards.figure, FIGURES)]
        return [f"results/{{tag}}/tables/{name}.csv" for name in names]

    def inputs(self) -> dict[str, list[str]]:
        """The inputs of the report."""
        results = results_of(self.plan)
        return {
            "tables": [f"{results}/tables/{name}.csv" for name in REPORT_TABLES],
            "answers": [f"{results}/answers/{q}.{s}" for q in QUESTIONS for s in ANSWER_FILES],
            "figures": [f"{results}/figures/{name}.svg" for name in FIGURES],
            "templates": [*(f"{TEMPLATES}/{name}.j2" for name in TEXTS), *PAGE],
            "plan": [f"{results}/plan.csv"],
            "timelines": [f"{results}/timelines/{case}.svg" for case in self.timelines.shown()],
            "ceilings": self.ceilings.table(),
            **self._study_inputs(),
        }

    def _study_inputs(self) -> dict[str, list[str]]:
        results, chosen = results_of(self.plan), self.studies.chosen
        return {
            "sections": [f"{results}/sections/{name}.md" for name in chosen],
            "section_appendices": [f"{results}/sections/{name}.appendix.md" for name in chosen],
            "section_numbers": [f"{results}/sections/{name}.json" for name in chosen],
            "study_tables": [f"{results}/tables/studies/{name}.csv" for name in chosen],
        }

    def everything(self) -> list[str]:
        """All that the report consists of: the default targets."""
        results, inputs = results_of(self.plan), self.inputs()
        drawn = [f"{results}/figures/study_{name}.svg" for name in self.studies.chosen]
        made = [path for part in MADE for path in inputs[part]]
        return ["report.md", "report.html", f"{results}/appendix.md", *made, *drawn]
