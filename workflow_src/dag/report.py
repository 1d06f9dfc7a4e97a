"""The report: what it and its chapters are made from."""

import re
from dataclasses import dataclass
from pathlib import Path

from workflow_src.answers import questions
from workflow_src.answers.questions import CARDS, FRONT, OPENING, QUESTIONS, Question
from workflow_src.dag.measured import Measured, Studies
from workflow_src.dag.paths import (
    CHAPTER,
    PAGE,
    ROOT_FILES,
    TEMPLATES,
    Wildcards,
    chapter_templates,
    known,
    made,
    tables_of,
)
from workflow_src.plan.suites import Plan
from workflow_src.studies.study import STUDIES

BODIES = [f"{TEMPLATES}/report.{form}.j2" for form in ("md", "html")]
"""They set chapters one after another; the page's own stand around the second."""

OF_ONE = (*CARDS.tables, "ledger", "operators", "environments", "findings")
"""The tables of a case's own card."""

LATE = ("ceilings", "remedies", "findings")
"""The optional tables with a rule of their own; the others are made with those needed."""


@dataclass(frozen=True)
class Report:
    """The report of a plan."""

    plan: Plan
    studies: Studies
    measured: Measured

    def answer_module(self, wildcards: Wildcards) -> str:
        """The module of an answer. Raises ConfigError for an unknown question."""
        room = QUESTIONS[known("question", wildcards.question, QUESTIONS)].room
        return f"workflow_src.answers.{room}.chapter"

    def answer_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The inputs of an answer. Raises ConfigError for an unknown question."""
        asked = QUESTIONS[known("question", wildcards.question, QUESTIONS)]
        return self._chapter(asked, f"answers/{asked.room}")

    def card_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The inputs of the card of one case."""
        tables = [f"results/{{tag}}/tables/{{case}}/{name}.csv" for name in OF_ONE]
        return {"tables": tables, "templates": [f"{TEMPLATES}/case_card.j2"]}

    def opening_inputs(self) -> dict[str, list[str]]:
        """The inputs of the opening."""
        answers = [f"results/{{tag}}/answers/{question}.json" for question in QUESTIONS]
        return {**self._planned(OPENING), "answers": answers}

    def front_module(self, wildcards: Wildcards) -> str:
        """The module that writes a chapter beside the answers."""
        name = wildcards.front
        return f"workflow_src.{'answers.cards.chapter' if name == 'cards' else f'report.{name}'}"

    def front_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The inputs of a chapter beside the answers."""
        if wildcards.front == "cards":
            return {"plan": [], "studies": [], **self._chapter(CARDS, "case_card")}
        chosen = self.studies.chosen if wildcards.front == "trust" else ()
        studies = tables_of(f"studies/{name}" for name in chosen)
        return {**self._planned(FRONT[wildcards.front]), "studies": studies}

    def _planned(self, asked: Question) -> dict[str, list[str]]:
        inputs = self._chapter(asked, f"report/{asked.room}")
        return {"ceilings": [], **inputs, "plan": ["results/{tag}/plan.csv"]}

    def _chapter(self, asked: Question, template: str) -> dict[str, list[str]]:
        studies = [f"studies/{name}" for name in asked.studies if name in self.studies.chosen]
        inputs = {"tables": tables_of([*asked.tables, *studies])}
        inputs["templates"] = chapter_templates(template)
        return inputs | {name: made(self.plan, name) for name in asked.optional if name in LATE}

    def chapters(self) -> list[str]:
        """The report's chapters as Markdown, in order."""
        names = [f"answers/{name}" for name in ("opening", *QUESTIONS)]
        names += [f"sections/{name}" for name in self.studies.chosen]
        names += [f"answers/{name}" for name in (*FRONT, "cards")]
        return [f"{self.plan.results}/{name}.md" for name in names]

    def others(self) -> list[str]:
        """The studies that were not chosen; none of a brought model."""
        left = [name for name in STUDIES if name not in self.studies.chosen]
        return [] if self.plan.settings["workload"] else left

    def appendix_inputs(self) -> dict[str, list[str]]:
        """The inputs of the appendix and the summary."""
        chapters = self.chapters()
        return {
            "chapters": chapters,
            "forms": [path.removesuffix(".md") + end for path in chapters for end in CHAPTER[1:]],
            "templates": [f"{TEMPLATES}/appendix.md.j2"],
            "tables": [each.format(tag=self.plan.tag) for each in tables_of(CARDS.tables)],
            "findings": made(self.plan, "findings"),
            "plan": [f"{self.plan.results}/plan.csv"],
        }

    def inputs(self) -> dict[str, list[str]]:
        """The inputs of the report."""
        shown = self.measured.timelines()
        return {
            **self.appendix_inputs(),
            "templates": [*BODIES, *PAGE],
            "timelines": [f"{self.plan.results}/timelines/{case}.svg" for case in shown],
            "appendix": [f"{self.plan.results}/appendix.md"],
        }

    def ending(self) -> str:
        """What the report says first, in bold, and where it is; "" without one."""
        report, page = map(Path, ROOT_FILES)
        if not report.is_file():
            return ""
        bold = re.search(r"^\*\*(.+?)\*\*$", report.read_text(encoding="utf-8"), re.M)
        said = bold[1].replace("\\", "") + "\n" if bold else ""
        return f"\n{said}The report: {report}, and for a browser {page.resolve().as_uri()}"

    def everything(self) -> list[str]:
        """The report, its parts, and the tables that it is made from."""
        results, inputs = self.plan.results, self.inputs()
        drawn = ["opening", *(f"answer_{question}" for question in QUESTIONS)]
        drawn += [f"study_{name}" for name in self.studies.chosen]
        every = [f"{results}/figures/{name}.svg" for name in drawn]
        every += [f"{results}/tables/{name}.csv" for name in questions.REPORT_TABLES]
        every += [path for part in ("chapters", "timelines") for path in inputs[part]]
        every += inputs["appendix"] + made(self.plan, "ceilings")
        return [*ROOT_FILES, *every]
