"""The report: what it and its figures are made from, and all that belongs to it."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workflow_src.answers.questions import FRONT, OPENING, QUESTIONS, REPORT_TABLES, Question
from workflow_src.dag.ceilings import Ceilings
from workflow_src.dag.paths import PAGE, ROOT_FILES, TEMPLATES, made_for_another, results_of
from workflow_src.dag.studies import Studies
from workflow_src.dag.timelines import Timelines
from workflow_src.dag.wildcards import Wildcards
from workflow_src.plan.suites import Plan

FORMS = ("md", "page.md", "appendix.md", "appendix.page.md", "json")
"""The files of an answer, of the cards and of a study's section."""

TEXTS = ("report.md", "page.md")
"""The report's own templates, beside its parts, those of every page and of the appendix."""

PARTS = TEMPLATES / "report"
"""The folder of the templates that the report and its page have in common."""

MADE = ("tables", "answers", "front", "cards", "figures", "timelines", "sections", "ceilings")
"""The inputs of the report that are results to look at, too."""


@dataclass(frozen=True)
class Report:
    """The report of a plan."""

    plan: Plan
    ceilings: Ceilings
    studies: Studies
    timelines: Timelines
    changed: tuple[str, ...] = ()
    """The settings in which this run differs from config.yaml, as --config takes them."""

    def opening_inputs(self) -> dict[str, list[str]]:
        """The inputs of the opening: tables, and what the answers say."""
        return {
            **self._chapter(OPENING),
            "answers": [f"results/{{tag}}/answers/{question}.json" for question in QUESTIONS],
        }

    def front_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The inputs of another chapter beside the answers; trust's are studies' tables, too."""
        chosen = self.studies.chosen if wildcards.front == "trust" else ()
        studies = [f"results/{{tag}}/tables/studies/{name}.csv" for name in chosen]
        return {**self._chapter(FRONT[wildcards.front]), "studies": studies}

    def _chapter(self, asked: Question) -> dict[str, list[str]]:
        own = f"{PARTS}/{asked.room}.j2"
        return {
            "tables": [f"results/{{tag}}/tables/{name}.csv" for name in asked.tables],
            "plan": ["results/{tag}/plan.csv"],
            "templates": [own, *map(str, sorted(TEMPLATES.glob("chapter.*")))],
            "ceilings": self.ceilings.table() if "ceilings" in asked.optional else [],
        }

    def inputs(self) -> dict[str, list[str]]:
        """The inputs of the report."""
        results, appendix = results_of(self.plan), self.appendix_inputs()
        texts = [f"{TEMPLATES}/{name}.j2" for name in TEXTS]
        drawn = ["opening", *(f"answer_{question}" for question in QUESTIONS)]
        return {
            **appendix,
            "templates": [*texts, *appendix["templates"], *PAGE],
            "figures": [f"{results}/figures/{name}.svg" for name in drawn],
            "timelines": [f"{results}/timelines/{case}.svg" for case in self.timelines.shown()],
            "appendix": list(self.files("appendix")),
        }

    def appendix_inputs(self) -> dict[str, list[str]]:
        """The inputs of the appendix, which are some of the report's."""
        results, chosen = results_of(self.plan), self.studies.chosen
        return {
            "tables": [f"{results}/tables/{name}.csv" for name in REPORT_TABLES],
            "answers": [f"{results}/answers/{q}.{form}" for q in QUESTIONS for form in FORMS],
            "front": [
                f"{results}/answers/{name}.{form}" for name in ("opening", *FRONT) for form in FORMS
            ],
            "cards": [f"{results}/answers/cards.{form}" for form in FORMS],
            "templates": [f"{TEMPLATES}/appendix.md.j2", *map(str, sorted(PARTS.glob("*.md.j2")))],
            "plan": [f"{results}/plan.csv"],
            "ceilings": self.ceilings.table(),
            "sections": [f"{results}/sections/{name}.md" for name in chosen],
            "section_forms": [
                f"{results}/sections/{name}.{form}" for name in chosen for form in FORMS[1:]
            ],
            "study_tables": [f"{results}/tables/studies/{name}.csv" for name in chosen],
        }

    def files(self, part: str) -> tuple[str, ...]:
        """The files of a part, "report" or "appendix"."""
        return ROOT_FILES if part == "report" else (f"{results_of(self.plan)}/appendix.md",)

    def asked(self, part: str) -> str:
        """What a part is made for, as a param and as the note at the end of its files.

        A hash of the run, of the settings that the part's commands name, and of its inputs.
        """
        inputs = self.inputs() if part == "report" else self.appendix_inputs()
        run = [self.plan.tag, self.plan.settings["suite"], *self.changed]
        return hashlib.sha256(json.dumps([run, inputs]).encode()).hexdigest()[:12]

    def made_for_another(self, part: str, ancient: Callable[[str], str]) -> str:
        """An input that has a part made again if one of its files was made for anything else."""
        return made_for_another(self.files(part), self.asked(part), ancient)

    def ending(self) -> str:
        """What stands first in the report, in bold, and where to open it; "" without a report."""
        report, page = (Path(name) for name in ROOT_FILES)
        if not report.is_file():
            return ""
        bold = re.search(r"^\*\*(.+?)\*\*$", report.read_text(encoding="utf-8"), re.M)
        said = bold[1].replace("\\", "") + "\n" if bold else ""
        return f"\n{said}The report: {report}, and for a browser {page.resolve().as_uri()}"

    def everything(self) -> list[str]:
        """All that the report consists of: the default targets."""
        results, inputs = results_of(self.plan), self.inputs()
        drawn = [f"{results}/figures/study_{name}.svg" for name in self.studies.chosen]
        made = [path for part in MADE for path in inputs[part]]
        return [*ROOT_FILES, *self.files("appendix"), *made, *drawn]
